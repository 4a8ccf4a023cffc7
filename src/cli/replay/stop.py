# What the debugger shows of a stop: the program's own frames. 'backtrace -no-filters' shows all.
import json
import os

FIRST_FRAMES = 4


def is_foreign(frame):
    library = os.path.basename(gdb.solib_name(frame.pc()) or "")
    return library.startswith(("libavmon.so", "libc.so.", "libpthread.so.", "ld-linux"))


class OwnFrames:
    name, enabled, priority = "avmon", True, 100

    def filter(self, frames):
        return (frame for frame in frames if not is_foreign(frame.inferior_frame()))


def first_own_frame():
    frame = gdb.newest_frame()
    while frame is not None and is_foreign(frame):
        frame = frame.older()
    return frame


def told():
    with open(JOURNAL, "rb") as journal:
        lines = journal.read().split(b"\0", 1)[0].split(b"\n")
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            pass


# The story's numbers of threads are the order of their creation; the debugger has its own.
def show_story():
    entries = list(told())
    kernel_ids = {entry["thread"]: entry["kernel"] for entry in entries if entry["what"] == "thread"}
    done = {entry["role"] for entry in entries if entry["what"] == "role"}
    numbers = {thread.ptid[1]: thread.num for thread in gdb.selected_inferior().threads()}
    for story_thread in sorted({step[1] for step in STORY}):
        steps = ["%s %s: %s" % ("did" if role in done else "about to do", role, place)
                 for role, thread, place in STORY if thread == story_thread]
        number = numbers.get(kernel_ids.get(story_thread))
        where = "gdb thread %d" % number if number else "it has ended"
        print("avmon: T%d (%s): %s" % (story_thread, where, "; ".join(steps)))


def show_stop():
    stopped = gdb.selected_thread()
    if stopped is None:
        print("avmon: the program ended before the violation")
        return
    for thread in sorted(gdb.selected_inferior().threads(), key=lambda thread: thread.num):
        thread.switch()
        frame = first_own_frame()
        if frame is not None:
            print("avmon: thread %d%s" % (thread.num, ", which stopped here" if thread.num == stopped.num else ""))
            gdb.execute("backtrace %d" % FIRST_FRAMES)
    stopped.switch()
    show_story()
    frame = first_own_frame()
    if frame is not None:
        frame.select()
        gdb.execute("frame")


gdb.frame_filters[OwnFrames.name] = OwnFrames()
show_stop()
