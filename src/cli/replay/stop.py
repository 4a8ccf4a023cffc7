# What the debugger shows of a stop: the program's own frames. 'backtrace -no-filters' shows all.
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
    frame = first_own_frame()
    if frame is not None:
        frame.select()
        gdb.execute("frame")


gdb.frame_filters[OwnFrames.name] = OwnFrames()
show_stop()
