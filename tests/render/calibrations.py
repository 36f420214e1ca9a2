"""A calibration with a bit of everything, built by hand."""

from specaudit.model.calibration import Calibration, Divergence, Kill, Method, Speed, Survivor


def kill(subject, check, level, verdict, tokens=0, told="It was said.", family="rule"):
    return Kill(subject=subject, family=family, check=check, level=level, verdict=verdict, tokens=tokens, told=told)


def calibration(**changes):
    crashed = kill("mutant:boom", "LAW1", "exact", "crashed", told="ValueError: <b>\x1b[31mboom</b>")
    accused = kill("control:odd", "CTR1", "any", "violates", 99, told="It cannot be.", family="control")
    fields = {
        "tool": "1.2.3",
        "seed": 7,
        "quick": True,
        "alpha": 1e-3,
        "kills": (
            kill("mutant:one", "LAW1", "exact", "violates", 432, told="Tokens & words differ."),
            kill("mutant:one", "LAW1", "sampled", "violates", 12_345),
            kill("mutant:one", "CTR1", "any", "violates", 100),
            kill("mutant:none", "LAW1", "exact", "inconclusive"),
            kill("mutant:none", "CTR1", "any", "not-applicable"),
            crashed,
            kill("control:odd", "LAW1", "exact", "conforms", family="control"),
            accused,
        ),
        "divergences": (
            Divergence(subject="mutant:one", kl=0.0345387763949, tokens=1000),
            Divergence(subject="mutant:none", kl=None, tokens=1000),
        ),
        "survivors": (Survivor(subject="mutant:none", expected="LAW9, which is still to come"),),
        "accused": (accused,),
        "crashed": (crashed,),
        "methods": (
            Method(
                name="a test",
                error="false alarm",
                level=0.05,
                audits=2000,
                wrong=97,
                most=131,
                uniform_p=0.25,
                kept=True,
            ),
            Method(name="a bound", error="false conforms", level=0.05, audits=2000, wrong=150, most=131, kept=False),
            Method(
                name="naive",
                error="false alarm",
                level=0.05,
                audits=2000,
                wrong=500,
                most=131,
                negative_control=True,
                kept=True,
            ),
        ),
        "speeds": (
            Speed(subject="mutant:one", without="", median=250.0, stein=200.0, allowed=330.0, kept=True),
            Speed(subject="mutant:one", without="one", median=None, stein=200.0, allowed=1200.0, kept=False),
        ),
        "passed": False,
    }
    return Calibration(**{**fields, **changes})
