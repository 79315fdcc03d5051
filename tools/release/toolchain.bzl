"""C toolchains for release builds: Debian's gcc for each supported machine, whichever of them this one is."""

load("@local_config_cc//:cc_toolchain_config.bzl", "cc_toolchain_config")
load("@rules_cc//cc:defs.bzl", "cc_toolchain")

# gcc's own headers lie below its major version, and Bazel wants to know every folder that headers may come from.
_GCC_VERSIONS = ["10", "11", "12", "13", "14", "15", "16"]

def debian_gcc(name, machine, cpu):
    """The toolchain `name`: <machine>-linux-gnu-gcc, for the Bazel CPU `cpu`.

    Args:
      name: the cc_toolchain.
      machine: as uname prints it.
      cpu: Bazel's word for it.
    """
    triple = machine + "-linux-gnu"
    programs = ["ar", "cpp", "dwp", "gcc", "gcov", "ld", "nm", "objcopy", "objdump", "strip"]
    cc_toolchain_config(
        name = name + "_config",
        abi_libc_version = "glibc",
        abi_version = "gcc",
        compile_flags = [
            "-fstack-protector-strong",
            "-fno-omit-frame-pointer",
            "-no-canonical-prefixes",
            "-Wall",
        ],
        compiler = "gcc",
        cpu = cpu,
        cxx_builtin_include_directories = [
            "/usr/include",
            "/usr/{}/include".format(triple),
        ] + [
            "/usr/lib/{}/{}/{}/include".format(folder, triple, version)
            for folder in ["gcc", "gcc-cross"]
            for version in _GCC_VERSIONS
        ],
        host_system_name = "local",
        link_flags = ["-Wl,-z,relro,-z,now"],
        opt_compile_flags = [
            "-g0",
            "-O2",
            "-DNDEBUG",
            "-ffunction-sections",
            "-fdata-sections",
        ],
        opt_link_flags = ["-Wl,--gc-sections"],
        target_libc = "glibc",
        target_system_name = triple,
        tool_paths = dict(
            {program: "/usr/bin/{}-{}".format(triple, program) for program in programs},
            **{"llvm-cov": "/bin/false"}
        ),
        toolchain_identifier = triple,
        unfiltered_compile_flags = [
            "-fno-canonical-system-headers",
            "-Wno-builtin-macro-redefined",
            "-D__DATE__=\"redacted\"",
            "-D__TIMESTAMP__=\"redacted\"",
            "-D__TIME__=\"redacted\"",
        ],
    )
    cc_toolchain(
        name = name,
        all_files = ":none",
        ar_files = ":none",
        as_files = ":none",
        compiler_files = ":none",
        dwp_files = ":none",
        linker_files = ":none",
        objcopy_files = ":none",
        strip_files = ":none",
        supports_param_files = True,
        toolchain_config = name + "_config",
        toolchain_identifier = triple,
    )
