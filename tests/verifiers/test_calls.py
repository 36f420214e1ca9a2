"""What comes back is read from any kind of array, and refused where it is no outcome of a step."""

import numpy as np
import pytest

from specaudit.verifiers.calls import Caller, ContractError
from specaudit.verifiers.worlds import draw_batch, half_used_world

BATCH = draw_batch(np.random.default_rng(0), (half_used_world(),), np.zeros(3, dtype=int), np.array([2, 1, 0]))
OUT, N_OUT = np.array([[1, 2, 0], [1, -1, -1], [2, -1, -1]]), np.array([3, 1, 1])


def call(*returned, **options):
    caller = Caller(verify=lambda *_: returned, **{"to_array": np.asarray, "rng": None, **options})
    return caller(BATCH), caller


class Tensor:
    """Like a tensor on a device, which numpy cannot read."""

    def __init__(self, array, *, device="gpu", grad=True):
        self.array, self.device, self.grad = array, device, grad

    def __array__(self, *_, **__):
        raise TypeError("can't convert device type tensor to numpy")

    def detach(self):
        return Tensor(self.array, device=self.device, grad=False)

    def cpu(self):
        return Tensor(self.array, device="cpu", grad=self.grad)

    def numpy(self):
        assert not self.grad
        assert self.device == "cpu"
        return self.array


def test_the_verifier_gets_its_own_arrays_and_its_rng():
    def verify(draft, q, p, num_draft, rng):
        np.testing.assert_array_equal(draft.array, BATCH.draft)
        assert (q.array.shape, p.array.shape) == (BATCH.q.shape, BATCH.p.shape)
        np.testing.assert_array_equal(num_draft.array, BATCH.num_draft)
        assert rng == "the rng"
        return Tensor(OUT), Tensor(N_OUT.astype(np.int32))

    out, n_out = Caller(verify=verify, to_array=Tensor, rng="the rng")(BATCH)
    np.testing.assert_array_equal(out, OUT)
    assert n_out.dtype == np.int64


def test_what_was_emitted_is_counted_and_remembered():
    _, one = call(OUT, N_OUT)
    _, same = call(OUT.copy(), N_OUT)
    _, other = call(np.where(OUT == 2, 1, OUT), N_OUT)
    assert one.rows == 3
    assert one.digest == same.digest != other.digest


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ((OUT,), "a tuple came back, not the pair"),
        ((OUT.astype(float), N_OUT), "out holds float64, not whole numbers"),
        ((OUT[:, :2], N_OUT), r"out is \[3, 2\] and n_out \[3\], not \[3, 3\] and \[3\]"),
        ((OUT, N_OUT[:, None]), r"n_out \[3, 1\]"),
        ((OUT, np.array([0, 1, 1])), r"n_out\[0\] is 0, not 1 to 3"),
        ((OUT, np.array([3, 1, 2])), r"n_out\[2\] is 2, not 1 to 1"),
        ((np.where(OUT == 1, 3, OUT), N_OUT), r"out\[0, 0\] is 3, not one of 3 tokens"),
        ((OUT, np.array([2, 1, 1])), r"out\[0, 2\], behind the last token, is 0, not -1"),
        ((OUT, np.array([3, 2, 1])), r"out\[1, 1\] is -1, not one of 3 tokens"),
    ],
)
def test_what_is_no_outcome_is_refused(returned, message):
    with pytest.raises(ContractError, match=message):
        call(*returned)
