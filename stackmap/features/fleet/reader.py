"""A fleet from a server: ``FleetReader`` asks for a page of hosts per query, and makes a ``Fleet`` of the answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from stackmap.document.wording import plural
from stackmap.errors import InputError, ParseError, SourceError
from stackmap.features.fleet import health
from stackmap.features.fleet.host_source import other_times
from stackmap.features.fleet.promql import (
    KIND_LEVEL,
    LEVEL,
    LEVEL_FIGURES,
    MODEL,
    MODEL_FIGURES,
    PARTS,
    Expressions,
    any_of,
)
from stackmap.features.fleet.twice import Target, again, leaving_out, target_of
from stackmap.features.fleet.volumes import (
    RATES,
    DiskLife,
    Fleet,
    Group,
    Key,
    SlowestMember,
    Volume,
    disk_life,
    wear,
    worst_first,
)
from stackmap.model.exported import LIFE_USED, LIFE_WRITTEN

if TYPE_CHECKING:
    from stackmap.features.fleet.health import Trouble
    from stackmap.features.fleet.http import Prometheus, Sample

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

LONG = 6 * 3600  # seconds: longer windows use means of an hour
PAGE, PAGE_VOLUMES = 250, 5000  # hosts per query, and about so many volumes
VOLUME_BYTES = 2600  # that a volume takes, with its row of the table or object of JSON
TROUBLE_BYTES = 1000
AT_ONCE = 4  # queries
NO_ANSWER = SourceError, ParseError
NO_RULES = "no recorded series of stackmap in this window: load stackmap.rules.yml into Prometheus; see stackmap-fleet(7)"
YOUNG = "the rules are loaded, and have no figures yet: the first come 5 minutes after the second scrape; ask again then"
NO_INFO = "not shown: {lacking} of {shown} volumes, which have no stackmap_stack_info at the end of the window"
NO_HOURS = "there are no hourly means yet; the window has less than an hour of data"
RENAMED = "{volumes} had another name or kernel name earlier in the window; the figures are of all names of the same UUID"
NO_FIGURE = "no volume has a figure for --sort {sort}"
NO_MODEL = "no disk has a model: does node_exporter export node_disk_info?"
NO_LABEL = "no host has the label {label}"
AGAIN = "that another target shows, too (two jobs, or two exporters): counted once"
SAVINGS = ("raid10_saves", "gaining")
IN_LABELS = {"level", "slowest", "wear"}  # parts that have more than their value
STATES = ("active", "sync", "degraded", "degraded sync")
Figures = dict[str, Any]


class Question(NamedTuple):
    """
    What is asked: the volumes of ``scope`` over a ``window`` (as given) that ends at ``time``.

    ``limit``: how many of the worst by ``sort``; 0 for all. ``savings``: also what RAID10 would save,
    by level. ``by``: the label to sum by instead of showing volumes, "" for none. ``parts``: of PARTS, what is
    asked of each volume.
    """

    window: str
    time: float
    sort: str
    limit: int
    scope: Expressions
    savings: bool = False
    by: str = ""
    parts: Collection[str] = PARTS


class FleetReader:
    """The answers of *server* to one *question*."""

    def __init__(self, server: Prometheus, question: Question) -> None:
        self._server = server
        self._asked = question
        self._all = question.scope._replace(hourly=question.scope.seconds > LONG)
        self._partial: list[str] = []
        self._notes: list[str] = []
        self._looked: list[Sample] = []  # how many troubles each host has, where the rules looked
        self._again: frozenset[Target] = frozenset()  # targets of machines that others show

    def read(self) -> Fleet:
        """Return the fleet; ``InputError`` if there is no such volume, or nothing was recorded."""
        asked = self._asked
        per_host = self._query(self._all.group(self._all.counted()))
        if not per_host:
            self._explain_nothing()
        self._leave_out_again()
        levels = self._levels()
        troubles = tuple(self._health())
        groups = self._groups(troubles) if asked.by else ()
        per_host = [sample for sample in per_host if self._is_first(sample.labels)]
        hosts = [sample.labels.get("instance", "") for sample in per_host]
        volumes = () if asked.by else self._worst_volumes(hosts, levels)
        # What is missing or doubtful is partial; what is only to know is a note.
        doubts = health.doubts(self._all)
        for said, is_missing in self._together(lambda doubt: self._doubt(*doubt), doubts):
            if said:
                (self._partial if is_missing else self._notes).append(said)
        self._partial += filter(None, (health.doubtful(troubles),))
        self._partial += [f"the server warns: {warning}" for warning in self._server.warnings]
        return Fleet(
            asked.window,
            asked.time,
            len(per_host),
            tuple(volumes),
            levels,
            tuple(self._partial),
            tuple(self._notes),
            troubles,
            asked.by,
            groups,
        )

    def _worst_volumes(self, hosts: list[str], levels: Iterable[Group]) -> list[Volume]:
        """Return the volumes to show, the worst first; a remark on those that are not known."""
        asked = self._asked
        wanted = round(sum(group.volumes + group.shared for group in levels))
        chosen = self._worst() if 0 < asked.limit < wanted else None
        per_page = min(PAGE, round(PAGE_VOLUMES * len(hosts) / (wanted or 1)) or 1)
        if chosen is not None and not chosen:
            self._notes.append(NO_FIGURE.format(sort=asked.sort))
        names = hosts if chosen is None else [key.host for key in chosen]
        volumes = self._volumes(names, chosen, per_page)
        shown = wanted if chosen is None else len(chosen)
        if len(volumes) < shown:
            self._partial.append(NO_INFO.format(lacking=shown - len(volumes), shown=shown))
        return worst_first(volumes, asked.sort)

    def _query(self, expression: str) -> list[Sample]:
        return self._server.query(expression, self._asked.time)

    def _together(
        self, ask: Callable[[Asked], Answer], several: Iterable[Asked]
    ) -> Iterator[Answer]:
        """Yield the answers to *several*, asked a few at a time; no more than these are kept."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            waiting: deque[Future[Answer]] = deque()
            for task in several:
                waiting.append(pool.submit(ask, task))
                if len(waiting) == AT_ONCE:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _leave_out_again(self) -> None:
        """Leave out targets that show a machine which another one shows, and say so."""
        try:
            found = again(self._all, self._query, self._server.query_range, self._asked.time)
        except NO_ANSWER as error:
            self._partial.append(f"hosts that several targets show: not known: {error}")
            return
        self._again = frozenset(found)
        self._all = self._all._replace(once=leaving_out(found, self._all.cluster))
        names = {target.instance for target in found}
        self._notes += filter(None, (health.sentence(names, AGAIN),))

    def _is_first(self, labels: Mapping[str, str]) -> bool:
        return target_of(self._all, labels) not in self._again

    def _explain_nothing(self) -> NoReturn:
        """Raise ``InputError``: the volumes are missing, or the rules."""
        if self._query(f"count({self._all.info})"):
            raise InputError(NO_RULES)
        matching = "matching " if self._all.hosts or self._all.level else ""
        other = other_times(self._server, self._all.counted(), self._asked.time)
        raise InputError(
            f"no {matching}volume with a topology in {self._server.url}{other or '; see stackmap-fleet(7)'}"
        )

    def _levels(self) -> tuple[Group, ...]:
        """Return the sums by level; from rates where no hourly means exist yet. ``InputError`` if nothing is recorded."""
        fields = ["hosts", "volumes", "shared", *LEVEL_FIGURES]
        fields += SAVINGS if self._asked.savings else ()
        sums = self._sums(KIND_LEVEL, fields)
        if self._all.hourly and all(group.write_bytes is None for group in sums):
            self._all = self._all._replace(hourly=False)
            sums = self._sums(KIND_LEVEL, fields)
            self._notes.append(NO_HOURS)
        if all(group.write_bytes is None for group in sums) and not self._query(
            self._all.without_counters
        ):
            raise InputError(YOUNG)  # the rules have counted the volumes
        return sums

    def _groups(self, troubles: Iterable[Trouble]) -> tuple[Group, ...]:
        """Return the sums by the label that is asked for, each with its troubles."""
        by = self._asked.by
        if by == LEVEL:
            return self._levels()
        fields = ["hosts", "disks", *MODEL_FIGURES]
        if by != MODEL:
            fields = ["hosts", "volumes", "shared", *LEVEL_FIGURES]
        groups = self._sums(by, fields)
        if not any(group.value for group in groups):
            self._notes.append(NO_MODEL if by == MODEL else NO_LABEL.format(label=by))
        if by == MODEL:
            models = [trouble.model for trouble in troubles]
            return tuple(group._replace(troubles=models.count(group.value)) for group in groups)
        troubled = health.counted(self._looked, (self._all.cluster, "job", "instance"), by)
        return tuple(group._replace(troubles=troubled.get(group.value)) for group in groups)

    def _sums(self, labels: str, fields: Collection[str]) -> tuple[Group, ...]:
        sums: dict[str, dict[str, float]] = {}
        answers = self._together(lambda field: self._query(self._all.by(labels, field)), fields)
        for field, answer in zip(fields, answers, strict=True):
            for series in answer:
                is_level = labels == KIND_LEVEL
                value = _level(series.labels) if is_level else series.labels.get(labels, "")
                figures = sums.setdefault(value, {})
                figures[field] = figures.get(field, 0) + series.value
        return tuple(Group(value, **sums[value]) for value in sorted(sums))

    def _worst(self) -> set[Key]:
        """Return the volumes with the highest figures."""
        asked = self._asked
        answer = self._query(self._all.worst(asked.sort, asked.limit))
        return {self._key(series.labels) for series in answer}

    def _volumes(
        self, hosts: Iterable[str], chosen: set[Key] | None, per_page: int
    ) -> list[Volume]:
        """Return the volumes of *hosts*, asked for so many *per_page*; *chosen*: only these, by any of their names."""
        names = sorted(dict.fromkeys(hosts))
        pages = [
            self._all._replace(host=any_of(names[start : start + per_page]))
            for start in range(0, len(names), per_page)
        ]
        several = self._several_names(pages)
        if chosen is not None:
            same = {key for group in several if not chosen.isdisjoint(group) for key in group}
            tops = any_of({key.top for key in chosen | same})
            pages = [page._replace(top=tops) for page in pages]
        figures = self._figures(pages)
        joined = self._join(several, figures, pages)
        if chosen is not None:
            chosen = {joined.get(key, key) for key in chosen}
        return [
            Volume(key, state=_state(values), **values)
            for key, values in figures.items()
            if "level" in values and (chosen is None or key in chosen)
        ]

    def _figures(self, pages: list[Expressions]) -> dict[Key, Figures]:
        """Return the figures of each volume, by part."""
        volumes: dict[Key, Figures] = {}
        known: dict[str, Figures] = {}

        def figures(labels: Mapping[str, str]) -> Figures:
            key = self._key(labels)
            if key not in volumes:
                self._server.budget.charge(VOLUME_BYTES)
            return volumes.setdefault(key, {})

        def ask(task: tuple[Expressions, str]) -> Sequence[tuple[Any, float]]:
            page, part = task
            try:
                if part in IN_LABELS:
                    return self._query(page.part(part))
                return self._server.values(page.part(part), self._asked.time, known, figures)
            except NO_ANSWER as error:
                hosts = plural(page.host.count("|") + 1, "host")
                self._partial.append(f"{part} of {hosts}: {error}")
                return []

        lives = self._lives(pages) if "wear" in self._asked.parts else {}
        parts = [name for name in PARTS if name in self._asked.parts and (lives or name != "wear")]
        tasks = [(page, part) for page in pages for part in parts]
        for (_, part), answer in zip(tasks, self._together(ask, tasks), strict=True):
            if part == "level":
                for labels, _ in answer:
                    figures(labels).update(_facts(labels))
            elif part == "slowest":
                for labels, value in answer:
                    figures(labels)[part] = SlowestMember(labels.get("device", ""), value)
            elif part == "wear":
                for labels, value in answer:
                    disk = labels.get("disk", "")
                    life = lives.get(self._disk(labels))
                    figures(labels)[part] = life and wear(disk, value, life)
            elif part in ("members", "state"):
                for volume, value in answer:
                    volume[part] = round(value)
            else:
                for volume, value in answer:  # half a million in a large fleet
                    volume[part] = value
        return volumes

    def _disk(self, labels: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(labels.get(key, "") for key in (self._all.cluster, "job", "instance", "disk"))

    def _lives(self, pages: list[Expressions]) -> dict[tuple[str, ...], DiskLife | None]:
        """Return the life of each disk; {} where no disk says."""
        try:
            if not self._query(f"count({LIFE_USED}{{{self._all.hosts}}})"):
                return {}
            used, written, everything = (
                {
                    self._disk(sample.labels): sample.value
                    for answer in self._together(self._query, asked)
                    for sample in answer
                }
                for asked in (
                    [page.life(LIFE_USED) for page in pages],
                    [page.life(LIFE_WRITTEN) for page in pages],
                    [page.written_to_disks for page in pages],
                )
            )
        except NO_ANSWER as error:
            self._partial.append(f"wear of disks: not known: {error}")
            return {}
        both = used.keys() & written.keys()
        return {disk: disk_life(used[disk], written[disk], everything.get(disk)) for disk in both}

    def _several_names(self, pages: Iterable[Expressions]) -> list[list[Key]]:
        """Return the names of each volume with several names in the window; add a remark where they are not known."""
        hosts = self._together(lambda page: self._names(page.renamed), pages)
        renamed = [
            any_of({sample.labels.get("instance", "") for sample in page}) for page in hosts if page
        ]
        names = [self._all._replace(host=host).names for host in renamed]
        by_uuid: dict[tuple[str, str, str, str], list[Key]] = {}
        for answer in self._together(self._names, names):
            for series in answer:
                key = self._key(series.labels)
                uuid = series.labels.get("uuid", "")
                by_uuid.setdefault((key.cluster, key.job, key.host, uuid), []).append(key)
        return [keys for keys in by_uuid.values() if len(keys) > 1]

    def _names(self, expression: str) -> list[Sample]:
        try:
            return self._query(expression)
        except NO_ANSWER as error:
            self._partial.append(f"earlier names of volumes: not known: {error}")
            return []

    def _join(
        self, several: list[list[Key]], figures: dict[Key, Figures], pages: list[Expressions]
    ) -> dict[Key, Key]:
        """Make one volume of all names of a UUID, each weighed by its samples; return its present name by earlier ones."""
        joined: dict[Key, Key] = {}
        for keys in several:
            present = [key for key in keys if "level" in figures.get(key, ())]
            if len(present) == 1:
                joined |= {key: present[0] for key in keys if key != present[0]}
        if not joined:
            return joined
        hosts = any_of({key.host for key in joined})
        counted = self._query(pages[0]._replace(host=hosts, top="").samples)
        samples = {self._key(sample.labels): sample.value for sample in counted}
        for present_name in dict.fromkeys(joined.values()):
            names = [present_name, *(was for was, now in joined.items() if now == present_name)]
            _weigh([(figures.get(key, {}), samples.get(key, 0)) for key in names])
        self._notes.append(RENAMED.format(volumes=plural(len(set(joined.values())), "volume")))
        return joined

    def _health(self) -> Iterator[Trouble]:
        """Yield the troubles at the end of the window; add a remark where they are unknown."""
        hosts = self._all.hosts
        expressions = [
            expression % hosts for expression in (health.NOW, health.SINCE, health.LOOKED)
        ]
        try:
            now, since, looked = self._together(self._query, expressions)
        except NO_ANSWER as error:
            self._partial.append(f"health is not known: {error}")
            return
        if not looked:
            self._partial.append(health.NOT_LOOKED)
        self._looked = [sample for sample in looked if self._is_first(sample.labels)]
        now = [sample for sample in now if self._is_first(sample.labels)]
        self._server.budget.charge(TROUBLE_BYTES * len(now))
        yield from health.troubles(now, since, self._all.cluster)

    def _doubt(self, expression: str, what: str) -> tuple[str, bool]:
        """Return the sentence on the hosts in an answer, "" without any, and whether something is missing."""
        try:
            answer = self._query(expression)
        except NO_ANSWER as error:
            return f"hosts {what}: not known: {error}", True
        targets = [target_of(self._all, sample.labels) for sample in answer]
        names = [f"{t.instance} of {t.cluster}" if t.cluster else t.instance for t in targets]
        return health.sentence(names, what), what not in health.NOTES

    def _key(self, labels: Mapping[str, str]) -> Key:
        get = labels.get
        return Key(
            get(self._all.cluster, ""),
            get("job", ""),
            get("instance", ""),
            get("top", ""),
            get("name", ""),
        )


def _weigh(parts: list[tuple[Figures, float]]) -> None:
    """Make the first figures the means of all, weighed by their samples; a figure that some lack is of the others."""
    present, _ = parts[0]
    for field in {field for figures, _ in parts for field in figures} & RATES:
        known = [(figures[field], count) for figures, count in parts if field in figures and count]
        if known:
            total = sum(count for _, count in known)
            present[field] = sum(value * count for value, count in known) / total


def _level(labels: Mapping[str, str]) -> str:
    """Return the RAID level, or the kind of what has none."""
    return labels.get("level") or labels.get("kind", "")


def _facts(labels: Mapping[str, str]) -> Figures:
    return {
        "level": _level(labels),
        "uuid": labels.get("uuid", ""),
        "shared": labels.get("shared") == "1",
    }


def _state(figures: Figures) -> str | None:
    """Remove the number of a state from *figures* and return it in words; None if it is unknown."""
    number = figures.pop("state", None)
    return None if number is None else STATES[number & 3]
