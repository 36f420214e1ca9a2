"""What follows from the inputs that nobody stated: `python -m tests.benchmarks.step_time`.

They are in `tests/claims/chosen.toml`, committed before anything was computed from them. Two to five minutes, for the
three policies, which the decoder itself is run with.
"""

from specaudit.claims import drafters
from specaudit.claims.drafters import Drafter
from specaudit.claims.simulation.compare import compare
from specaudit.claims.simulation.policies import adaptive, fixed, oracle
from specaudit.claims.simulation.workload import Kind, workload
from specaudit.claims.speed_up import Speculation
from specaudit.claims.tables import models
from specaudit.decoding.scheduler import Scheduling
from tests.claims.cases import CHOSEN, CONTEXT, LAUNCH, chosen_deployment, light
from tests.claims.chosen_cases import LARGEST, flip, long_outputs, shares, tails, tree_stops_winning

BY = (-0.05, 0.0, 0.05)


def main() -> None:
    print("8 × H100, Llama-3.3-70B in FP8, context 1,024; inputs: tests/claims/chosen.toml\n")
    blind()
    print()
    trees()
    print()
    slowed()
    print()
    capacities()
    print()
    policies()


def blind() -> None:
    heads, small = shares()
    print(
        f"Four blind heads read {heads:.1%} of a step of the target (about 6 % is said of them), four passes of\n"
        f"Llama-3.1-8B {small:.1%} (nearly half a step). Nothing is said of the batch at which the winner flips."
    )
    print(f"{'blind':>7} {'model':>6}  {'alone':>12}  flips at a batch of")
    for blind_by in BY:
        for model_by in BY:
            found = flip(blind_by, model_by)
            at = ", ".join(map(str, found.at)) or f"none up to {LARGEST}"
            print(f"{found.blind_acceptance:7.2f} {found.model_acceptance:6.2f}  {found.first:>12}  {at}")


def trees() -> None:
    given = CHOSEN["tree"]
    print(
        f"Ten-node tree against a chain of {given['chain']}: acceptance above which the tree stops winning, mask\n"
        "included, by the share of it with which a later child is accepted. No figure is told elsewhere."
    )
    print(f"{'batch':>7}" + "".join(f"{given['later_child'] + by:>9.2f}" for by in BY) + "  without the mask")
    for batch in given["batches"]:
        with_mask = [tree_stops_winning(batch, later_by=by) for by in BY]
        cells = "".join(f"{'never' if one is None else f'{one:.3f}':>9}" for one in with_mask)
        bare = tree_stops_winning(batch, mask=False)
        print(f"{batch:>7}{cells}  {'never wins' if bare is None else f'{bare:.3f}'}")


def slowed() -> None:
    given = CHOSEN["tail"]
    print(
        f"Requests that {given['draft_tokens']} drafts slow down, acceptance spread by {given['deviation']} around a "
        "mean: they\nare those below the quantile of acceptance that is shown, and the p99 of the time per token is\n"
        "theirs wherever it is above 1 %."
    )
    print(f"{'batch':>7}" + "".join(f"{given['mean'] + by:>9.2f}" for by in BY) + "  acceptance needed")
    every = [tails(by) for by in BY]
    for row in zip(*every, strict=True):
        needed = row[0].acceptance_needed
        print(f"{row[0].batch:>7}" + "".join(f"{one.slowed:>9.1%}" for one in row) + f"  {needed:.3f}")


def capacities() -> None:
    print("A full cache at the end of outputs of each length, prompts of 1,024, four drafts, acceptance .6:")
    print(f"{'context':>8} {'holds':>6} {'tok/s each':>11} {'speed-up':>9} {'again, ms':>10} {'tokens lost':>12}")
    for one in long_outputs():
        print(
            f"{one.context:>8,} {one.batch:>6,} {one.user_speed:>11.1f} {one.speed_up:>9.2f} "
            f"{one.preemption_seconds * 1e3:>10.0f} {one.preemption_tokens:>12,.0f}"
        )


def policies() -> None:
    print(
        "Three draft-length policies on a mix of code, chat and lookup-friendly requests, on the reference decoder's\n"
        "scheduler: tokens a second with a full batch, over those of four drafts. Elsewhere a gain of about 5 % was\n"
        "reported with a cheap drafter and of about 19 % with an expensive one, most of it gone under batching."
    )
    given = CHOSEN["policies"]
    expensive = drafters.small_model(models().find(given["expensive_model"]), launch=LAUNCH)
    for name, drafter, told in (("cheap", light(given["cheap_share"]), 1.05), ("expensive", expensive, 1.19)):
        print(f"\n{name} drafter\n{'batch':>7} {'by':>6}  {'none':>6} {'adaptive':>9} {'oracle':>7}")
        for batch in given["batches"]:
            found = []
            for by in BY:
                none, per_request, knowing = gains(drafter, batch, by)
                print(f"{batch:>7} {by:>+6.2f}  {none:>6.3f} {per_request:>9.3f} {knowing:>7.3f}", flush=True)
                found.append(knowing)
            where = "below" if told < min(found) else "above" if told > max(found) else "within"
            print(
                f"{'':>15} the oracle's {min(found):.3f} to {max(found):.3f}: {told:.2f}, told elsewhere, lies {where}"
            )


def gains(drafter: Drafter, batch: int, by: float) -> tuple[float, ...]:
    """Speeds without drafts, of the adaptive policy and of the oracle, over that of the fixed length."""
    given = CHOSEN["policies"]
    kinds = [
        Kind(name=name, share=kind["share"], acceptance=kind["acceptance"] + by) for name, kind in given["mix"].items()
    ]
    speculation = Speculation(deployment=chosen_deployment(), drafter=drafter, acceptance=0.7)
    load = workload(
        kinds,
        requests=max(32, 4 * batch),
        rate=None,
        shortest=given["shortest"],
        longest=given["longest"],
        seed=0,
    )
    knowing = oracle(speculation, [kind.acceptance for kind in kinds], given["most"], CONTEXT + given["shortest"])
    found = compare(
        [("", load, Scheduling(max_requests=batch))],
        speculation,
        (fixed(given["fixed"]), adaptive(given["most"]), knowing),
        prompt=CONTEXT,
        prefill=given["prefill"],
    ).loads[0]
    plain, four, *others = (one.crowded for one in found.policies)
    return (plain / four, *(one / four for one in others))


if __name__ == "__main__":
    main()
