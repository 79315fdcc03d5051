"""The driver choices of a session: the primary one and its alternates, each ready to be called.

spec/formations-and-newer-manifest.md A9, A11.
"""

import dataclasses
from collections.abc import Mapping

from murmur.inference.credentials import Credential, InjectedCredential
from murmur.inference.driver import DriverClient
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import CredentialUnavailable
from murmur.inference.limits import ModelLimits
from murmur.session.deadline import UntilDeadline
from murmur.session.guest_calls import GuestCalls
from murmur.session.stage import Staged

PRIMARY = "primary"


@dataclasses.dataclass(frozen=True, slots=True)
class DriverChoice:
    """One choice. `credential` None is a driver that sends no key."""

    name: str
    driver: str
    model: str
    client: DriverClient
    limits: ModelLimits
    credential: Credential | None
    driver_config: Mapping[str, object] | None = None

    @property
    def available(self) -> bool:
        """Whether its credential has a value now."""
        if self.credential is None:
            return True
        if isinstance(self.credential, InjectedCredential):
            return self.credential.held
        try:
            self.credential.current()
        except CredentialUnavailable:
            return False
        return True

    @property
    def source(self) -> str:
        return "keyless" if self.credential is None else self.credential.source

    def record(self) -> dict[str, object]:
        """The element of `session_start.inference_choices`."""
        return {
            "name": self.name,
            "driver": self.driver,
            "model": self.model,
            "credential_source": self.source,
            "available": self.available,
            "model_limits": self.limits.record(),
        }

    def shown(self) -> dict[str, object]:
        """The element of `choices` on the control surface."""
        return {
            "name": self.name,
            "driver": self.driver,
            "model": self.model,
            "available": self.available,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class InUse:
    """What one call of the loop is made with: a choice, and the output cap it sends."""

    choice: DriverChoice
    output_cap: int


def open_choices(
    staged: Staged, guest_calls: GuestCalls, gateway: Gateway
) -> dict[str, DriverChoice]:
    """Every choice of an http capsule by its name, the primary one first; none of any other."""
    inference = staged.capsule.inference
    assert inference is not None and inference.driver is not None
    if inference.transport == "process":
        return {}
    primary = inference.driver
    rows = [(PRIMARY, primary.artifact, inference.model or "", staged.limits, primary.config)]
    rows += [
        (
            each.name,
            each.driver.artifact,
            each.model,
            staged.alternate_limits[each.name],
            primary.config if each.driver.artifact == primary.artifact else None,
        )
        for each in inference.alternates
    ]
    clients: dict[str, DriverClient] = {}
    choices: dict[str, DriverChoice] = {}
    for name, driver, model, limits, config in rows:
        if driver not in clients:
            clients[driver] = _client(staged, guest_calls, gateway, driver)
        attached = staged.gateways.get(driver)
        choices[name] = DriverChoice(
            name=name,
            driver=driver,
            model=model,
            client=clients[driver],
            limits=limits,
            credential=attached.credential if attached else None,
            driver_config=config,
        )
    return choices


def _client(staged: Staged, guest_calls: GuestCalls, gateway: Gateway, driver: str) -> DriverClient:
    attached = staged.gateways.get(driver)
    return DriverClient(
        driver=driver,
        route=guest_calls.route(driver),
        invoke=lambda payload, token, on_event, cancel: guest_calls.call_driver(
            driver, payload, token, on_event, cancel
        ),
        gateway=gateway,
        credential=attached.credential if attached else None,
        clock=UntilDeadline(staged.prepared.launch.deadline),
    )
