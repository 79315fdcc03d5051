"""The native protobuf rules under the load path of rules_proto, for Bazel's own tools."""

proto_lang_toolchain = native.proto_lang_toolchain
proto_library = native.proto_library
