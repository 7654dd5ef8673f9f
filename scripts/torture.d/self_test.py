"""Tests of the checker and of the plan: made-up histories in which each invariant is broken, and that it is noticed."""

import unittest

import checker
import questions_plan


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
        undone = [*answered()[:3], event(3.5, "undone", about="T@one", value="v1", ticket="qaaaaaa1")]
        self.assertEqual(kinds(undone), [])
        again = [event(5, what, channel="lines", about="T@one", value="v2", ticket="qaaaaaa1") for what in ("tried", "accepted")]
        self.assertEqual(kinds([*undone, *again]), ["lost"])
        self.assertEqual(kinds([*undone, *again, event(6, "received", asker="a", about="T@one", call="1", value="v2")]), [])
        self.assertIn("outcomes", kinds([*undone, *again, event(6, "received", asker="a", about="T@one", call="1", value="v1")]))

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

    def test_an_attack_that_succeeds_is_noticed(self):
        self.assertEqual(kinds([event(1, "attack", way="cookie", held=True)]), [])
        self.assertEqual(kinds([event(1, "attack", way="cookie", held=False)]), ["attacks"])

    def test_a_wait_without_an_end_is_noticed(self):
        self.assertEqual(kinds([event(1, "hang", who="a relay")]), ["hangs"])
        self.assertEqual(kinds([event(1, "gave_up", asker="a", about="T@one")]), ["hangs"])


class Plan(unittest.TestCase):
    def test_a_seed_makes_the_same_plan_again_and_another_seed_another(self):
        self.assertEqual(questions_plan.make(7, 60.0), questions_plan.make(7, 60.0))
        self.assertNotEqual(questions_plan.make(7, 60.0), questions_plan.make(8, 60.0))


def run():
    """Whether all tests pass."""
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in (Checker, Plan))
    return unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful()
