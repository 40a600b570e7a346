"""The stability gate's policy: as a file states it (`StabilityPolicy`), as applied (`StabilityRules`)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from fastgate.gates.schema import Name, Text

__all__ = [
    "FLOORS",
    "PROFILES",
    "Override",
    "StabilityPolicy",
    "StabilityRules",
]

Floor = Annotated[float, Meta(gt=0, le=1, description="a number above 0 and at most 1, such as 0.8")]
Width = Annotated[float, Meta(gt=0, description="a number above 0, such as 0.2")]
Drop = Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1, such as 0.05")]
Mass = Annotated[float, Meta(gt=0, lt=1, description="a number above 0 and below 1, such as 0.95")]
MissingShare = Annotated[float, Meta(ge=0, lt=1, description="a number from 0 to below 1")]
Probes = Annotated[int, Meta(ge=1, le=10**9, description="a whole number, 1 or more")]
Deviation = Annotated[
    float, Meta(ge=1e-6, le=1e3, description="a number from 1e-6 to 1000, in logits, such as 2")
]
Letters = Literal["raw", "unswapped"]
Scale = Literal["unit", "logit"]
Unlisted = Literal["error", "ignore"]

FLOORS: Final = {
    "paraphrase": 0.80,
    "template": 0.80,
    "model_version": 0.85,
    "order_swap": 0.85,
    "adversarial_framing": 0.70,
}
"""The kinds of perturbation that every policy asks for unless it omits them, and their least agreement."""


class Override(Struct, frozen=True, forbid_unknown_fields=True):
    """What a tenant or a use-case profile asks for beyond the policy, each as strict or stricter."""

    description: Text = ""
    min_agreement: dict[Name, Floor] = {}
    max_ci_width: Width | None = None
    max_drop: Drop | None = None
    mass: Mass | None = None
    min_probes: Probes | None = None
    max_missing_share: MissingShare | None = None
    accept_separation: bool | None = None
    unlisted: Unlisted | None = None


PROFILES: Final = dict.fromkeys(
    (
        "legal_claim",
        "medical_sensitive",
        "regulated_financial",
        "family_sensitive",
        "employment_sensitive",
    ),
    Override(min_agreement={"model_version": 0.90}, max_ci_width=0.15),
)
"""The use-case profiles that every policy has; it may raise them further and add its own."""


class StabilityPolicy(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A stability policy as stated, key by key the TOML file; checked by `fastgate.gates.policy.load_policy`.

    Parameters
    ----------
    name : str
        Shown in reports.
    description : str
        Free text.
    min_agreement : dict of str to float
        Kind of perturbation → the least share of probes that make the primary run's choice. The five of `FLOORS`
        are asked for whether stated or not; other kinds may be added.
    omit : tuple of str
        Kinds of `FLOORS` that this policy does not ask for.
    min_probes : int
        Probes compared, of each kind, below which the kind fails.
    min_draws : int
        Draws of each alternative's posterior, where it is given as draws, below which its width does not count; 400
        put ten beyond each end of a 95 % interval.
    max_missing_share : float
        Share of a kind's probes of which a run is missing, above which the kind fails.
    max_drop : float
        How much the agreement of a kind may fall against the previous release without review.
    max_ci_width : float
        Cap of the mean width of the alternatives' central credible intervals.
    mass : float
        Of these intervals.
    letters : {"raw", "unswapped"}, optional
        What the choices of swapped runs are: the letters as shown, so that A and B trade places; or un-swapped
        already. Needed where an order was swapped and neither the columns' names nor the call say it.
    scale : {"unit", "logit"}
        Of the intervals of fitted utilities: the chance to beat an average alternative, or log odds. Posteriors
        that are given are taken on the scale they have.
    prior_sd : float
        Standard deviation of the fitted utilities' prior, in logits.
    accept_separation : bool
        Whether a fit may count in which some alternatives never lost to the others, so that only the prior
        bounds their distance.
    unlisted : {"error", "ignore"}
        Whether kinds that only the probes name are an error, or are left out and named in the evidence.
    profiles : dict of str to Override
        Use-case profiles beside `PROFILES`, or raising those.
    tenants : dict of str to Override
        May only raise strictness.
    """

    gate: Literal["stability"] = "stability"
    name: Name
    description: Text = ""
    min_agreement: dict[Name, Floor] = {}
    omit: tuple[Name, ...] = ()
    min_probes: Probes = 30
    min_draws: Probes = 400
    max_missing_share: MissingShare = 0.0
    max_drop: Drop = 0.05
    max_ci_width: Width = 0.20
    mass: Mass = 0.95
    letters: Letters | None = None
    scale: Scale = "unit"
    prior_sd: Deviation = 2.0
    accept_separation: bool = False
    unlisted: Unlisted = "error"
    profiles: dict[Name, Override] = {}
    tenants: dict[Name, Override] = {}


class StabilityRules(Struct, frozen=True, kw_only=True):
    """The policy that the gate applies, for one tenant and profile or none; every field is explicit.

    The fields are `StabilityPolicy`'s, but for these.

    Attributes
    ----------
    tenant, profile : str or None
        Whose overrides are in it.
    min_agreement : dict of str to float
        Every kind that must hold, with its floor.
    """

    gate: Literal["stability"] = "stability"
    name: str
    tenant: str | None
    profile: str | None
    min_agreement: dict[str, float]
    min_probes: int
    min_draws: int
    max_missing_share: float
    max_drop: float
    max_ci_width: float
    mass: float
    letters: Letters | None
    scale: Scale
    prior_sd: float
    accept_separation: bool
    unlisted: Unlisted
