"""The component: `on-stage`, answered with manifests."""

from murmur_hooking.component import NOTHING, QuietHook
from wit_world.imports import lifecycle

from shell_desc_hook.describing import manifests


class Lifecycle(QuietHook):
    """The export."""

    def on_stage(self, event: lifecycle.StageEvent) -> lifecycle.HookOutput:
        """Describe the allowed binaries that are known."""
        found = [lifecycle.ToolManifest(*each) for each in manifests(event.shell_allow)]
        return lifecycle.HookOutput_WriteManifests(found) if found else NOTHING
