/* A small database of numbers by name, and of expressions over them; clients insert, change, remove and evaluate at the same time.
 *
 * Each table has a lock. Who needs both takes that of the numbers first. What is below under "tables" is atomic, what is under
 * "requests" is made from it. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ROWS = 16, NOT_FOUND = -1 };

enum operator { ADD, SUBTRACT, MULTIPLY };

struct number {
    int in_use;
    char name;
    long value;
};

struct expression {
    enum operator operator;
    char left, right;
    long result;
};

static pthread_mutex_t numbers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct number numbers[ROWS];
static pthread_mutex_t expressions_lock = PTHREAD_MUTEX_INITIALIZER;
static struct expression expressions[ROWS];
static int expression_count;

static long calculate(enum operator operator, long left, long right)
{
    switch (operator) {
    case ADD:
        return left + right;
    case SUBTRACT:
        return left - right;
    case MULTIPLY:
        return left * right;
    }
    return 0;
}

/* Tables. */

/* With the lock of the numbers held. */
static int find_row(char name)
{
    for (int row = 0; row < ROWS; row++)
        if (numbers[row].in_use && numbers[row].name == name)
            return row;
    return NOT_FOUND;
}

static int contains(char name)
{
    pthread_mutex_lock(&numbers_lock);
    int found = find_row(name) != NOT_FOUND;
    pthread_mutex_unlock(&numbers_lock);
    return found;
}

/* Into the first row that is free. */
static void add_number(char name, long value)
{
    pthread_mutex_lock(&numbers_lock);
    for (int row = 0; row < ROWS; row++)
        if (!numbers[row].in_use) {
            numbers[row].in_use = 1;
            numbers[row].name = name;
            numbers[row].value = value;
            break;
        }
    pthread_mutex_unlock(&numbers_lock);
}

static long get_value(char name)
{
    pthread_mutex_lock(&numbers_lock);
    int row = find_row(name);
    long value = row == NOT_FOUND ? 0 : numbers[row].value;
    pthread_mutex_unlock(&numbers_lock);
    return value;
}

static void put_value(char name, long value)
{
    pthread_mutex_lock(&numbers_lock);
    int row = find_row(name);
    if (row != NOT_FOUND)
        numbers[row].value = value;
    pthread_mutex_unlock(&numbers_lock);
}

static void remove_number(char name)
{
    pthread_mutex_lock(&numbers_lock);
    int row = find_row(name);
    if (row != NOT_FOUND)
        numbers[row].in_use = 0;
    pthread_mutex_unlock(&numbers_lock);
}

static int count_uses(char name)
{
    int uses = 0;
    pthread_mutex_lock(&expressions_lock);
    for (int row = 0; row < expression_count; row++)
        uses += expressions[row].left == name || expressions[row].right == name;
    pthread_mutex_unlock(&expressions_lock);
    return uses;
}

/* Right: that the operands are there, and that the expression is, are one block. */
static int define(char left, enum operator operator, char right)
{
    pthread_mutex_lock(&numbers_lock);
    int known = find_row(left) != NOT_FOUND && find_row(right) != NOT_FOUND;
    if (known) {
        pthread_mutex_lock(&expressions_lock);
        expressions[expression_count].operator = operator;
        expressions[expression_count].left = left; /* violation 3: other */
        expressions[expression_count].right = right;
        expression_count++;
        pthread_mutex_unlock(&expressions_lock);
    }
    pthread_mutex_unlock(&numbers_lock);
    return known;
}

/* Right: operands and results are of one moment. */
static void evaluate_all(void)
{
    pthread_mutex_lock(&numbers_lock);
    pthread_mutex_lock(&expressions_lock);
    for (int row = 0; row < expression_count; row++) {
        struct expression *of = &expressions[row];
        int left = find_row(of->left), right = find_row(of->right);
        if (left != NOT_FOUND && right != NOT_FOUND)
            of->result = calculate(of->operator, numbers[left].value, numbers[right].value);
    }
    pthread_mutex_unlock(&expressions_lock);
    pthread_mutex_unlock(&numbers_lock);
}

/* Requests. */

/* Wrong: two clients may insert the same name. */
static void insert(char name, long value)
{
    if (!contains(name))         /* violation 1: first */
        add_number(name, value); /* violation 1: second */ /* violation 1: other */
}

/* Wrong: what another client makes of the number after the read is lost. */
static void change(char name, enum operator operator, long operand)
{
    long before = get_value(name);                        /* violation 2: first */
    put_value(name, calculate(operator, before, operand)); /* violation 2: second */ /* violation 2: other */
}

/* Wrong: an expression with this number may be defined after the look. */
static void remove_unused(char name)
{
    if (count_uses(name) == 0) /* violation 3: first */
        remove_number(name);   /* violation 3: second */
}

/* Clients. */

static void *surveyor(void *argument)
{
    (void)argument;
    insert('a', 6);
    insert('b', 7);
    define('a', MULTIPLY, 'b');
    change('a', ADD, 1);
    change('b', ADD, 1);
    return NULL;
}

static void *accountant(void *argument)
{
    (void)argument;
    usleep(2000);
    insert('b', 8);
    insert('c', 5);
    define('b', SUBTRACT, 'c');
    change('b', MULTIPLY, 2);
    evaluate_all();
    return NULL;
}

static void *cleaner(void *argument)
{
    (void)argument;
    usleep(4000);
    for (char name = 'a'; name <= 'd'; name++)
        remove_unused(name);
    evaluate_all();
    return NULL;
}

int main(void)
{
    void *(*const clients[])(void *) = {surveyor, accountant, cleaner};
    enum { CLIENTS = sizeof clients / sizeof clients[0] };
    pthread_t threads[CLIENTS];
    insert('d', 1);
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&threads[i], NULL, clients[i], NULL);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    for (int row = 0; row < ROWS; row++)
        if (numbers[row].in_use)
            printf("%c = %ld\n", numbers[row].name, numbers[row].value);
    for (int row = 0; row < expression_count; row++)
        printf("%c, %c: %ld\n", expressions[row].left, expressions[row].right, expressions[row].result);
    return 0;
}
