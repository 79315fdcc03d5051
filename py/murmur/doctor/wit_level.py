"""The *WIT level* block: what this mur serves, and whether every installed artifact fits.

CLI reference, *WIT level*. An artifact that the next run launches is the checklist's business; one
that it does not launch is a warning (W-REG-003).
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from murmur.core.diagnostics import Diagnostic, warning
from murmur.doctor.findings import Findings
from murmur.doctor.installed import Installed, installed
from murmur.store.levels import Misfit, served_level
from murmur.store.stores import Store


def level_block(
    stores: Sequence[Store],
    platform: str,
    environ: Mapping[str, str],
    declared: AbstractSet[str],
    findings: Findings,
) -> list[str]:
    """The block. `declared` are the `name@version` that the project declares."""
    served = served_level()
    width = max(len(package) for package in ("PACKAGE", *served.packages)) + 2
    lines = ["WIT level", f"  this mur serves WIT level {served.number}:"]
    lines += [
        f"    {package:<{width}}{version}"
        for package, version in (("PACKAGE", "VERSION"), *served.packages.items())
    ]
    held: list[Installed] = []
    problems: list[str] = []
    for store in stores:
        try:
            held += installed(store, platform, environ)
        except OSError as failure:
            reason = failure.strerror or str(failure)
            problems.append(f"  not checked ({store.label} store): {reason}")
    held.sort(key=lambda each: (each.name, each.version))
    lines += ["", "  installed:", *(_rows(held) or ["    none installed"]), *problems]
    return lines + _misfit_lines(held, declared, findings)


def _rows(held: Sequence[Installed]) -> list[str]:
    number = served_level().number
    names = max((len(each.reference) for each in held), default=0) + 3
    labels = max((len(f"built at {each.label}") for each in held if each.label), default=0) + 3
    rows = []
    for each in held:
        front = f"    {each.reference:<{names}}{each.store:<7}   "
        if each.problem is not None:
            rows.append(f"{front}not checked: {each.problem}")
            continue
        fit = "fits" if each.fits else "does not fit"
        rows.append(f"{front}{f'built at {each.label}':<{labels}}{fit} level {number}")
    return rows


def _misfit_lines(
    held: Sequence[Installed], declared: AbstractSet[str], findings: Findings
) -> list[str]:
    stale = [each for each in held if each.misfits]
    names = max((len(each.reference) for each in stale), default=0) + 3
    lines = [
        f"  ⚠  {each.reference:<{names}}{each.store:<7}   {misfit}"
        for each in stale
        for misfit in each.misfits
    ]
    undeclared = [each for each in stale if each.reference not in declared]
    for each in undeclared:
        flag = "-g " if each.store == "global" else ""
        release = f"<a release built against {wanted(each.misfits)}>"
        findings.warnings.append(f"mur install {flag}{each.name}@{release}")
    if undeclared:
        found = _warning(undeclared[0])
        lines.append(f"  mur run refuses these at launch (warning[{found.code}], {found.link})")
    return lines


def wanted(found: Sequence[Misfit]) -> str:
    """The packages that a fitting release is built against."""
    served = [f"{each.package}@{each.served}" for each in found if each.served is not None]
    return ", ".join(dict.fromkeys(served)) or f"WIT level {served_level().number}"


def _warning(each: Installed) -> Diagnostic:
    first = each.misfits[0]
    return warning(
        "W-REG-003", artifact=each.reference, interface=first.found, served=first.serving
    )
