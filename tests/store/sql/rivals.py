"""`tests.support.rivals` on a database, with all loaded that each of its processes needs.

    python -m tests.store.sql.rivals WHERE ROUNDS

They are forks, and loading SQLAlchemy and a driver takes longer than a round.
"""

from __future__ import annotations

import sys

from agent_widget.store.sql import database_of
from tests.support import rivals

if __name__ == "__main__":
    database_of(sys.argv[1]).opened().dispose()
    rivals.main(sys.argv[1], int(sys.argv[2]))
