"""Calibration: what the tool itself caught, missed, and cried wolf at."""

from specaudit.model.record import FORM_VERSION, Record


class Kill(Record, frozen=True, kw_only=True, tag="kill"):
    """What one check said of one mutant or control at one level of evidence."""

    subject: str
    """`mutant:NAME[:DOSE]`, `control:NAME`, or `reference:NAME`: the correct decoder, asked as that mutant is."""
    family: str
    check: str
    level: str
    """`exact`, `scored`, `sampled` or `text`; `any` for a check whose verdict no level changes."""
    verdict: str
    """The check's, or `crashed` if the subject was."""
    tokens: int
    """Tokens of the subject up to the verdict."""
    told: str
    """The finding in a sentence, or the error."""

    @property
    def killed(self) -> bool:
        """True if the fault was found. A subject that crashed was not."""
        return self.verdict == "violates"


class Divergence(Record, frozen=True, kw_only=True, tag="divergence"):
    """How far a subject's tokens are from the target's law, measured where that is known in every context."""

    subject: str
    kl: float | None
    """Nats a token, over the contexts that the subject visits; None where nothing but noise was seen, or what the
    target excludes."""
    tokens: int
    """From which it was measured."""


class Alarms(Record, frozen=True, kw_only=True, tag="alarms"):
    """Audits that a method ought to be right about, at one level."""

    method: str
    level: float
    audits: int
    wrong: int
    p_values: tuple[float, ...]
    """One an audit, where they ought to be uniform."""


class Verdicts(Record, frozen=True, kw_only=True, tag="verdicts"):
    """Tokens that audits of one fault took to their verdict, betting with the drafter's law known."""

    subject: str
    without: str
    """What the portfolio left out; nothing if it was whole."""
    weight: float
    """Of the component that bets most on the fault, one law with one stake; 0 if it was left out."""
    tokens: tuple[int | None, ...]
    """One an audit; None if it ended without a verdict."""


Result = Kill | Divergence | Alarms | Verdicts


class Method(Record, frozen=True, kw_only=True):
    """How often a method was wrong, beside how often it may be."""

    name: str
    error: str
    """`false alarm` or `false conforms`."""
    level: float
    audits: int
    wrong: int
    most: int
    uniform_p: float | None = None
    """p-value of the p-values' being uniform (Kolmogorov-Smirnov); None where they need not be."""
    negative_control: bool = False
    """A method known to be anti-conservative, that must be caught."""
    kept: bool
    """It is as it should be: within the bound and uniform, or, as a negative control, caught."""


class Speed(Record, frozen=True, kw_only=True):
    """How soon a fault was found, beside how soon it could be."""

    subject: str
    without: str
    """What the portfolio left out."""
    median: float | None
    """Tokens; None where half of the audits or more ended without a verdict."""
    stein: float
    """ln(1/α)/KL: the mean that no test can beat that judges each token by the one before."""
    allowed: float | None
    """What the median is held against: 1.1 (ln 1/α + ln 1/w)/KL in the dictionary, 6 times Stein for a fault of the
    accept rule that was left out of it; nothing for other faults left out."""
    kept: bool


class Survivor(Record, frozen=True, kw_only=True):
    """A mutant that no check killed."""

    subject: str
    expected: str
    """What is to kill it: a check that does not exist yet, or more tokens; nothing if it ought to have been killed."""


class Calibration(Record, frozen=True, kw_only=True):
    """Everything that a calibration found; a pure function of the version, the seed and what was asked."""

    version: int = FORM_VERSION
    tool: str
    """Version of specaudit that was calibrated."""
    seed: int
    quick: bool
    alpha: float
    """Error budget of each audit in the kill matrix."""
    left_out: tuple[str, ...] = ()
    """Checks that were not asked, since they cost too much for a quick calibration."""
    kills: tuple[Kill, ...] = ()
    divergences: tuple[Divergence, ...] = ()
    survivors: tuple[Survivor, ...] = ()
    accused: tuple[Kill, ...] = ()
    """Controls, and correct decoders, of which a check said that they violate."""
    crashed: tuple[Kill, ...] = ()
    methods: tuple[Method, ...] = ()
    speeds: tuple[Speed, ...] = ()
    passed: bool
    """No control was accused, nothing crashed, nothing survives that an existing check should kill, and every method is
    as it should be. Being slow is not being wrong: medians have no part in it."""
