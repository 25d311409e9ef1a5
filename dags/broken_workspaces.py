"""Makes no DAG: it fails to import, and so is shown in Airflow's UI, while a workspace is broken; the others go on."""

from __future__ import annotations

from panelake.orchestration.workspaces import require_sound_workspaces

require_sound_workspaces()
