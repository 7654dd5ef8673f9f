"""Tests of the checkers and of the plans: made-up histories in which each invariant is broken, and that it is noticed."""

import itertools
import unittest

import checker
import cluster_checker
import cluster_plan
import mails_checker
import mails_plan
import prompts_checker
import prompts_plan
import questions_plan
import tasks_checker
import tasks_clients
import tasks_plan


def event(t, what, **members):
    """An event of the world `w` at the second `t`."""
    return {"t": float(t), "what": what, "world": "w", **members}


def answered(value="v1", ticket="qaaaaaa1", about="T@one", asker="a"):
    """The events of a question that goes well."""
    return [
        event(1, "asked", asker=asker, about=about, call="1"),
        event(2, "tried", channel="lines", about=about, value=value, ticket=ticket),
        event(3, "accepted", channel="lines", about=about, value=value, ticket=ticket),
        event(4, "response", asker=asker, call="1"),
        event(4, "received", asker=asker, about=about, call="1", value=value),
    ]


def kinds(events):
    """The kinds of the invariants that a history breaks."""
    return sorted({kind for kind, _, _ in checker.check(events)})


class Checker(unittest.TestCase):
    def test_a_good_history_breaks_nothing(self):
        self.assertEqual(kinds(answered()), [])

    def test_an_acknowledged_answer_that_does_not_arrive_is_lost(self):
        self.assertEqual(kinds(answered()[:3]), ["lost"])

    def test_an_answer_that_was_not_acknowledged_may_be_lost(self):
        self.assertEqual(kinds(answered()[:2]), [])

    def test_an_undone_answer_does_not_arrive(self):
        undone = [*answered()[:3], event(3.5, "undone", channel="lines", about="T@one", value="v1", ticket="qaaaaaa1")]
        self.assertEqual(kinds(undone), [])
        again = [event(5, what, channel="lines", about="T@one", value="v2", ticket="qaaaaaa1") for what in ("tried", "accepted")]
        self.assertEqual(kinds([*undone, *again]), ["lost"])
        self.assertEqual(kinds([*undone, *again, event(6, "received", asker="a", about="T@one", call="1", value="v2")]), [])
        undone_one = event(6, "received", asker="a", about="T@one", call="1", value="v1")
        self.assertIn("outcomes", kinds([*undone, *again, undone_one]))
        same = [event(5, what, channel="phone", about="T@one", value="v1", ticket="qaaaaaa1") for what in ("tried", "accepted")]
        self.assertEqual(kinds([*undone, *same, undone_one]), [])

    def test_an_asker_that_closed_a_connection_unread_loses_its_answer_itself(self):
        self.assertEqual(kinds([*answered()[:3], event(4, "unread", asker="a", about="T@one")]), [])

    def test_two_responses_to_one_request_are_doubled(self):
        self.assertEqual(kinds([*answered(), event(5, "response", asker="a", call="1")]), ["doubled"])
        moved = [*answered(), event(6, "response", asker="a", call="1", event="7")]
        self.assertEqual(kinds(moved), ["doubled"])
        self.assertEqual(kinds([*moved, event(5, "fault", kind="kill")]), [])
        again = [event(t, "response", asker="a", call="1", event="7") for t in (5, 6)]
        self.assertEqual(kinds([*answered()[:3], *again, answered()[4]]), [])

    def test_an_answer_that_arrives_twice_is_doubled_unless_a_fault_hid_its_arrival(self):
        twice = [*answered(), event(9, "received", asker="a", about="T@one", call="2", value="v1")]
        self.assertEqual(kinds(twice), ["doubled"])
        for hidden in ({}, {"asker": "a"}):
            self.assertEqual(kinds([*twice, event(5, "fault", kind="kill", **hidden)]), [])
        for shown in (event(5, "fault", kind="kill", asker="b"), event(0.5, "fault", kind="kill"), event(10, "fault", kind="kill")):
            self.assertEqual(kinds([*twice, shown]), ["doubled"])

    def test_one_event_that_is_sent_again_is_not_doubled(self):
        events = [event(t, "received", asker="a", about="T@one", call="1", value="v1", event="3") for t in (4, 9)]
        self.assertEqual(kinds([*answered()[:3], *events]), [])

    def test_the_answer_to_the_same_words_in_another_folder_is_crossed(self):
        other = answered("v2", "qbbbbbb1", "T@two", "b")
        self.assertEqual(kinds([*answered(), *other]), [])
        other[-1]["value"] = "v1"
        self.assertIn("crossed", kinds([*answered(), *other]))

    def test_an_answer_that_the_user_never_gave_is_foreign(self):
        events = answered()
        events[-1]["value"] = "intruder"
        self.assertIn("foreign", kinds(events))

    def test_a_question_with_two_outcomes_is_noticed(self):
        second = [event(5, what, channel="browser", about="T@one", value="v2", ticket="qaaaaaa1") for what in ("tried", "accepted")]
        self.assertIn("outcomes", kinds([*answered(), *second]))

    def test_an_answer_that_another_interface_took_back_is_no_second_outcome(self):
        def act(t, what, channel, value):
            return event(t, what, channel=channel, about="T@one", value=value, ticket="qaaaaaa1")
        undone = [*answered()[:3], act(3.2, "tried", "browser", "v1"), act(3.5, "undone", "lines", "v1")]
        again = [act(5, "tried", "lines", "v2"), act(6, "accepted", "lines", "v2")]
        received = event(7, "received", asker="a", about="T@one", call="1", value="v2")
        # The browser read the answer before it was taken back, and reports it afterwards.
        self.assertEqual(kinds([*undone, act(4, "accepted", "browser", "v1"), *again, received]), [])
        # It tried after that, so the answer is its own.
        late = [act(4, "tried", "browser", "v1"), act(4.5, "accepted", "browser", "v1")]
        self.assertIn("outcomes", kinds([*undone, *late, *again, received]))

    def test_an_attack_that_succeeds_is_noticed(self):
        self.assertEqual(kinds([event(1, "attack", way="cookie", held=True)]), [])
        self.assertEqual(kinds([event(1, "attack", way="cookie", held=False)]), ["attacks"])

    def test_a_wait_without_an_end_is_noticed(self):
        self.assertEqual(kinds([event(1, "hang", who="a relay")]), ["hangs"])
        self.assertEqual(kinds([event(1, "gave_up", asker="a", about="T@one")]), ["hangs"])


def ended(**members):
    """The events of a task that goes well; `members` replace those of its row."""
    row = {
        "task": "t1", "key": "c0-1", "mode": "ok", "agent": "reader", "state": "succeeded", "has_outcome": True, "status": "succeeded",
        "message": "result c0-1", "end": "result c0-1", "failure": None, "is_uncounted": False, "processes_left": 0, "kept": None,
        "files_unknown": None, "has_patch": False, "held_by": [],
    }
    return [
        event(1, "asked", client="c0", key="c0-1", agent="reader", mode="ok", way="waits"),
        event(2, "accepted", client="c0", key="c0-1", task="t1"),
        event(3, "start", key="c0-1", task="t1", pid=7),
        event(4, "given", client="c0", task="t1", status="succeeded", message="result c0-1", left=[]),
        event(9, "stored", **row | members),
    ]


def failed(failure, mode="ok"):
    """The events of a task that failed."""
    row = ended(state="failed", status="failed", mode=mode, message="", end="", failure={"class": failure, "detail": ""})
    return [event for event in row if event["what"] != "given"]


class TasksChecker(unittest.TestCase):
    def kinds(self, *events):
        """The kinds of the promises that a history breaks."""
        return sorted({kind for kind, _, _ in tasks_checker.check(list(events))})

    def test_a_good_history_breaks_nothing(self):
        self.assertEqual(self.kinds(*ended()), [])

    def test_an_accepted_task_without_an_outcome_is_lost(self):
        for rest in ([], ended(state="running", status=None, has_outcome=False)[4:], ended(has_outcome=False)[4:], ended(state="failed")[4:]):
            self.assertEqual(self.kinds(*ended()[:3], *rest), ["lost"])
        self.assertEqual(self.kinds(*ended(), event(5, "given", client="r1", task="t9", status="failed", message="", left=[])), ["lost"])

    def test_what_a_task_wrote_in_a_worktree_is_in_its_patch_or_in_a_kept_tree(self):
        self.assertEqual(self.kinds(*ended(mode="touch", agent="treed")), ["lost"])
        full = event(2, "fault", target="disk", kind="full")
        self.assertEqual(self.kinds(*ended(mode="touch", agent="treed"), full), [])
        for there in ({"has_patch": True}, {"kept": "/s/t1/tree"}, {"agent": "writer"}):
            self.assertEqual(self.kinds(*ended(**{"mode": "touch", "agent": "treed"} | there)), [])

    def test_a_task_that_was_started_or_stored_twice_is_noticed(self):
        self.assertIn("twice", self.kinds(*ended(), event(5, "start", key="c0-1", task="t1", pid=8)))
        self.assertIn("twice", self.kinds(*ended(), *ended(task="t2")[4:]))

    def test_an_outcome_that_a_client_got_is_the_stored_one(self):
        for other in ({"status": "failed"}, {"message": "result c1-1"}):
            events = ended()
            events[3] |= other
            self.assertEqual(self.kinds(*events), ["outcomes"])
        contract = event(4, "given", client="c0", key="c0-1", status="succeeded", message="result c0-1\n\nChecks by the hub: verified.")
        self.assertEqual(self.kinds(*ended(), contract), [])
        self.assertEqual(self.kinds(*ended(), contract | {"status": "failed"}), ["outcomes"])

    def test_a_process_that_outlives_its_task_is_noticed(self):
        events = ended()
        events[3]["left"] = ["7 sleep 9"]
        self.assertEqual(self.kinds(*events), ["processes"])
        self.assertEqual(self.kinds(*ended(), event(9, "left", process="7 sleep 9")), ["processes"])
        self.assertEqual(self.kinds(*ended(processes_left=1)), ["processes"])

    def test_a_tree_that_no_report_names_and_a_lock_are_noticed(self):
        tree = event(9, "tree", path="/s/t1/tree", locked=False)
        self.assertEqual(self.kinds(*ended(), tree), ["trees"])
        self.assertEqual(self.kinds(*ended(kept="/s/t1/tree"), tree), [])
        self.assertEqual(self.kinds(*ended(kept="/s/t1/tree"), tree | {"locked": True}), ["trees"])

    def test_a_failure_needs_a_fault_that_explains_it(self):
        self.assertEqual(self.kinds(*failed("crashed", "crash")), [])
        self.assertEqual(self.kinds(*failed("timed_out", "hang")), [])
        self.assertEqual(self.kinds(*failed("hub_gone")), ["wrong"])
        self.assertEqual(self.kinds(*failed("hub_gone"), event(2, "fault", target="hub", kind="kill")), [])
        self.assertEqual(self.kinds(*failed("crashed"), event(2, "fault", target="disk", kind="full")), [])
        self.assertEqual(self.kinds(*failed("hub_gone"), event(2, "fault", target="disk", kind="full")), ["wrong"])
        self.assertEqual(self.kinds(*failed("supervisor_gone"), event(2, "fault", target="supervisor", kind="kill", task="t2")), ["wrong"])
        self.assertEqual(self.kinds(*failed("supervisor_gone"), event(2, "fault", target="supervisor", kind="kill", task="t1")), [])

    def test_a_success_that_cannot_be_is_noticed(self):
        self.assertEqual(self.kinds(*ended(mode="hang")), ["wrong"])
        self.assertEqual(self.kinds(*ended(mode="stopped"), event(3, "fault", target="runner", kind="stop", task="t1")), [])
        self.assertEqual(self.kinds(*ended(end="result c0-2")), ["wrong"])
        full = event(2, "fault", target="disk", kind="full")
        self.assertEqual(self.kinds(*ended(end="[15 bytes are left out here]"), full), ["wrong"])
        self.assertEqual(self.kinds(*ended(end="[15 bytes are left out here]", output_missing="15 bytes"), full), [])
        self.assertEqual(self.kinds(*ended()[:2], *ended()[3:]), ["wrong"])

    def test_a_cancellation_needs_somebody_who_cancels(self):
        cancelled = [*ended()[:3], *ended(state="cancelled", status="cancelled", message="", end="")[4:]]
        self.assertEqual(self.kinds(*cancelled), ["wrong"])
        self.assertEqual(self.kinds(*cancelled, event(2, "cancel", client="c0", key="c0-1")), [])
        restart = {"target": "hub", "kind": "restart --cancel"}
        self.assertEqual(self.kinds(*cancelled, event(2, "fault", **restart)), [])
        self.assertEqual(self.kinds(event(0.1, "fault", **restart), event(0.2, "over", **restart), *cancelled), ["wrong"])
        self.assertEqual(self.kinds(event(0.1, "fault", **restart), *cancelled, event(2, "over", **restart)), [])

    def test_a_broken_database_and_a_wait_without_an_end_are_noticed(self):
        self.assertEqual(self.kinds(event(9, "integrity", result="ok")), [])
        self.assertEqual(self.kinds(event(9, "integrity", result="page 7 is never used")), ["integrity"])
        self.assertEqual(self.kinds(event(9, "hang", who="r1")), ["hangs"])

    def test_the_outcomes_in_a_response_are_found_wherever_they_are(self):
        outcome = {"task_id": "t1", "status": "failed", "message": "m"}
        for found in ({"structuredContent": outcome}, {"structuredContent": {"results": [outcome]}},
                      {"content": [{"type": "text", "text": 'Tasks that you delegated earlier have ended: [{"task_id": "t1", "status": "failed"}]'}]}):
            self.assertEqual([found[:2] for found in tasks_clients.outcomes(found)], [("t1", "failed")])
        self.assertEqual(list(tasks_clients.outcomes({"structuredContent": outcome | {"status": "running"}})), [])


def sent(attempts=(("sent", 2.0, 3.0),), status="sent", takes=1, name="m1"):
    """The events of a mail with these attempts, each an outcome with its start and end."""
    rows = [{"outcome": outcome, "started": started, "ended": ended} for outcome, started, ended in attempts]
    return [
        event(1, "imported", titles=["mail-0-0"]),
        *(event(2, "taken", mail=name, subject="mail-0-0 in 15 minutes", at=2.5) for _ in range(takes)),
        event(9, "stored", mail="m1", title="mail-0-0", status=status, attempts=rows),
    ]


class MailsChecker(unittest.TestCase):
    AGAIN = (("unknown", 2.0, 6.0), ("sent", 7.0, 8.0))

    def kinds(self, *events):
        """The kinds of the promises that a history breaks."""
        return sorted({kind for kind, _, _ in mails_checker.check(list(events))})

    def test_a_good_history_breaks_nothing(self):
        self.assertEqual(self.kinds(*sent()), [])

    def test_a_mail_that_was_planned_and_did_not_arrive_is_lost(self):
        for status in ("planned", "sending", "unknown", "failed", "dead", "cancelled"):
            self.assertEqual(self.kinds(*sent(status=status)), ["lost"])
        self.assertEqual(self.kinds(*sent(takes=0)), ["lost"])
        self.assertEqual(self.kinds(*sent()[:2]), ["lost", "renamed"])
        self.assertEqual(self.kinds(*sent(), sent()[-1] | {"mail": "m2"}), ["lost"])

    def test_a_mail_arrives_again_only_if_its_attempt_was_cut_off(self):
        self.assertEqual(self.kinds(*sent(takes=2)), ["repeated"])
        kill = event(3, "fault", kind="kill", at=3.0)
        self.assertEqual(self.kinds(*sent(self.AGAIN, takes=2), kill), [])
        self.assertEqual(self.kinds(*sent(self.AGAIN, takes=3), kill), ["repeated"])

    def test_an_attempt_without_an_outcome_needs_a_kill_or_a_cut_of_its_own(self):
        self.assertEqual(self.kinds(*sent(self.AGAIN)), ["wrong"])
        self.assertEqual(self.kinds(*sent(self.AGAIN), event(3, "fault", kind="kill", at=12.0)), ["wrong"])
        cut = event(3, "cut", mail="m1", subject="mail-0-0", at=3.0)
        self.assertEqual(self.kinds(*sent(self.AGAIN), cut), [])
        self.assertEqual(self.kinds(*sent(self.AGAIN), cut | {"mail": "m2"}), ["renamed", "wrong"])
        # A server that goes away ends the connections of all mails.
        away = event(3, "mode", mode="refused", at=3.0)
        self.assertEqual(self.kinds(*sent(self.AGAIN), away), [])
        self.assertEqual(self.kinds(*sent(self.AGAIN), away | {"mode": "busy"}), ["wrong"])

    def test_a_failed_attempt_needs_a_failing_server(self):
        failed = (("failed", 2.0, 3.0), ("sent", 7.0, 8.0))
        self.assertEqual(self.kinds(*sent(failed)), ["wrong"])
        modes = [event(0, "mode", mode="busy", at=1.0), event(5, "mode", mode="ok", at=5.0)]
        self.assertEqual(self.kinds(*sent(failed), *modes), [])
        self.assertEqual(self.kinds(*sent(failed), *[mode | {"at": mode["at"] + 9.0} for mode in modes]), ["wrong"])
        self.assertEqual(self.kinds(*sent((("held", 2.0, 3.0), ("sent", 7.0, 8.0)))), ["wrong"])

    def test_a_kill_leaves_no_more_open_than_was_in_flight(self):
        kill = event(3, "fault", kind="kill", at=3.0)
        cut = event(3, "cut", mail="m1", subject="mail-0-0", at=3.0)
        def many(number, *also):
            for n in range(number):
                yield from (found | {"mail": f"m{n}"} if "mail" in found else found for found in [*sent(self.AGAIN)[1:], *also])
        self.assertEqual(self.kinds(*many(16), kill), [])
        self.assertEqual(self.kinds(*many(17), kill), ["repeated"])
        self.assertEqual(self.kinds(*many(17, cut), kill), [])

    def test_a_mail_keeps_its_name(self):
        self.assertEqual(self.kinds(*sent(name="m2")), ["lost", "renamed"])

    def test_a_broken_database_and_a_wait_without_an_end_are_noticed(self):
        self.assertEqual(self.kinds(event(9, "integrity", result="page 7 is never used")), ["integrity"])
        self.assertEqual(self.kinds(event(9, "hang", who="a hub")), ["hangs"])


class PromptsChecker(unittest.TestCase):
    SHOWN = event(2, "shown", step=1, kind="write", seconds=0.25)

    def test_what_is_shown_breaks_nothing_and_what_is_never_shown_is_lost(self):
        self.assertEqual(prompts_checker.check([self.SHOWN]), [])
        lost = event(9, "lost", step=2, kind="checkout", missing="a/00/000 has an old text")
        hang = event(9, "hang", who="a request to the server")
        self.assertEqual([kind for kind, _, _ in prompts_checker.check([self.SHOWN, lost, hang])], ["lost", "hangs"])

    def test_a_late_change_is_a_figure(self):
        figures = prompts_checker.summary([self.SHOWN, self.SHOWN | {"seconds": 1.5}], [])
        self.assertEqual((figures["over a second"], figures["milliseconds"]["p100"]), (1, 1500))


class ClusterChecker(unittest.TestCase):
    STORED = event(9, "stored", hub="a", key="a-1", task="t1", mode="touch", state="succeeded", status="succeeded", folder="w", reason=None, worker="one", has_file=True, refusal_in_log=False)
    GOOD = (event(1, "accepted", hub="a", key="a-1", task="t1", mode="touch", folder="w"), event(2, "start", key="a-1"), STORED)

    def kinds(self, *events):
        return sorted({kind for kind, _, _ in cluster_checker.check(events)})

    def test_a_task_that_ends_once_breaks_nothing(self):
        self.assertEqual(self.kinds(*self.GOOD), [])

    def test_a_second_start_and_a_second_row_are_noticed(self):
        self.assertEqual(self.kinds(*self.GOOD, event(3, "start", key="a-1")), ["twice", "wrong"])
        self.assertEqual(self.kinds(*self.GOOD, self.STORED | {"task": "t2"}), ["twice"])

    def test_an_accepted_task_without_an_end_or_without_its_file_is_lost(self):
        self.assertEqual(self.kinds(*self.GOOD[:2]), ["lost"])
        self.assertEqual(self.kinds(*self.GOOD[:2], self.STORED | {"state": "running", "status": None}), ["lost"])
        self.assertEqual(self.kinds(*self.GOOD[:2], self.STORED | {"has_file": False}), ["lost"])

    def test_a_lost_task_needs_a_fault_and_a_reason(self):
        lost = self.STORED | {"state": "lost", "status": "lost", "reason": "lost"}
        kill = event(1.5, "fault", target="worker", name="one", kind="kill")
        self.assertEqual(self.kinds(*self.GOOD[:2], lost), ["wrong"])
        self.assertEqual(self.kinds(*self.GOOD[:2], kill, lost), [])
        self.assertEqual(self.kinds(*self.GOOD[:2], kill, lost | {"reason": None}), ["silent"])
        self.assertEqual(self.kinds(*self.GOOD[:2], kill, lost | {"state": "failed", "status": "failed", "reason": "refused"}), ["wrong"])

    def test_a_repository_that_cannot_travel_starts_nothing_and_its_refusal_is_in_a_log(self):
        refused = self.STORED | {"folder": "s", "state": "cancelled", "status": "cancelled", "worker": None, "has_file": False, "refusal_in_log": True}
        accepted, cancel = self.GOOD[0], event(8, "cancel", key="a-1")
        self.assertEqual(self.kinds(accepted, cancel, refused), [])
        self.assertEqual(self.kinds(accepted, cancel, refused | {"refusal_in_log": False}), ["silent"])
        self.assertEqual(self.kinds(*self.GOOD[:2], cancel, refused), ["wrong"])

    def test_what_is_left_is_noticed(self):
        self.assertEqual(self.kinds(event(9, "base", hub="a", reference="refs/adjutant/base/t1")), ["left"])
        self.assertEqual(self.kinds(event(9, "order", worker="one", path="t1-1")), ["left"])
        self.assertEqual(self.kinds(event(9, "integrity", result="page 7"), event(9, "hang", who="a hub")), ["hangs", "integrity"])


class Plan(unittest.TestCase):
    def test_a_seed_makes_the_same_plan_again_and_another_seed_another(self):
        for plan in (questions_plan, tasks_plan, mails_plan, cluster_plan):
            self.assertEqual(plan.make(7, 60.0), plan.make(7, 60.0))
            self.assertNotEqual(plan.make(7, 60.0), plan.make(8, 60.0))
        first = [[step["kind"] for step in itertools.islice(prompts_plan.steps(seed), 50)] for seed in (7, 7, 8)]
        self.assertEqual(first[0], first[1])
        self.assertNotEqual(first[0], first[2])
        client = {"name": "c0", "kind": "contract", "number": 0}
        self.assertEqual(tasks_plan.task(7, client, 3), tasks_plan.task(7, client, 3))


def run():
    """Whether all tests pass."""
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in (Checker, TasksChecker, MailsChecker, PromptsChecker, ClusterChecker, Plan))
    return unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful()
