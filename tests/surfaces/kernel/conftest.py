"""One kernel for each ipykernel release that the design names."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.chromium import in_ci
from tests.surfaces.kernel.kernels import OWN, RELEASES, NoKernel, RealKernel, installed


@pytest.fixture(scope="session", params=RELEASES)
def kernel(request: pytest.FixtureRequest) -> Iterator[RealKernel]:
    """A running kernel, shared by all tests of one release."""
    try:
        folder = None if request.param == OWN else installed(request.param)
    except NoKernel as error:
        if in_ci(os.environ):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    real = RealKernel.start(request.param, folder)
    yield real
    real.close()


@pytest.fixture
def healthy(kernel: RealKernel) -> Iterator[RealKernel]:
    """The kernel; after the test it must still run cells, in order, and be interruptible."""
    yield kernel
    cells = [kernel.begin(f"print({n})") for n in range(3)]
    assert [kernel.end(cell).text for cell in cells] == ["0\n", "1\n", "2\n"]
    assert kernel.run("import signal; print(signal.getsignal(signal.SIGINT).__name__)") == (
        "default_int_handler\n"
    )
