// How many moves does a knight need to each square? Several searchers begin with different first moves and share a board of answers.
#include <cstdio>
#include <mutex>
#include <thread>

enum { SIDE = 6, UNKNOWN = 99, LONGEST = 5, SEARCHERS = 2, DIRECTIONS = 8 };

struct Move {
    int right, up;
};

static const Move moves[DIRECTIONS] = {{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}};

class Board {
public:
    Board()
    {
        for (int i = 0; i < SIDE * SIDE; i++)
            distance[i] = UNKNOWN;
    }

    static bool has(int column, int row) { return column >= 0 && column < SIDE && row >= 0 && row < SIDE; }

    int get(int column, int row)
    {
        std::lock_guard<std::mutex> hold(lock);
        return distance[row * SIDE + column];
    }

    void set(int column, int row, int steps)
    {
        std::lock_guard<std::mutex> hold(lock);
        distance[row * SIDE + column] = steps;
    }

    // All in one block.
    int reached()
    {
        std::lock_guard<std::mutex> hold(lock);
        int count = 0;
        for (int i = 0; i < SIDE * SIDE; i++)
            count += distance[i] != UNKNOWN;
        return count;
    }

    void print()
    {
        std::lock_guard<std::mutex> hold(lock);
        for (int row = SIDE - 1; row >= 0; row--)
            for (int column = 0; column < SIDE; column++)
                std::printf("%d%c", distance[row * SIDE + column], column == SIDE - 1 ? '\n' : ' ');
    }

private:
    std::mutex lock;
    int distance[SIDE * SIDE];
};

class Searcher {
public:
    Searcher(Board &on, int first) : board(on), first_direction(first) {}

    // The knight stands in the corner.
    void run()
    {
        for (int i = first_direction; i < DIRECTIONS; i += SEARCHERS)
            visit(moves[i].right, moves[i].up, 1);
    }

private:
    // Wrong: another searcher may have come by a shorter way after the look, and its answer is overwritten by a longer one.
    void visit(int column, int row, int steps)
    {
        if (!Board::has(column, row) || steps > LONGEST)
            return;
        if (board.get(column, row) <= steps) /* violation 1: first */
            return;
        board.set(column, row, steps); /* violation 1: second */ /* violation 1: other */
        for (const Move &move : moves)
            visit(column + move.right, row + move.up, steps + 1);
    }

    Board &board;
    int first_direction;
};

static Board board;

static void search(int first)
{
    Searcher searcher(board, first);
    searcher.run();
}

int main()
{
    board.set(0, 0, 0);
    std::thread searchers[SEARCHERS];
    for (int i = 0; i < SEARCHERS; i++)
        searchers[i] = std::thread(search, i);
    for (std::thread &searcher : searchers)
        searcher.join();
    board.print();
    std::printf("%d squares reached\n", board.reached());
}
