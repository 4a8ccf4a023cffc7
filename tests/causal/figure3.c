int x;

int getX(void)
{
    return x;
}

void setX(int p0)
{
    x = p0;
}

void incX(int val)
{
    int tmp = getX();
    tmp = tmp + val;
    setX(tmp);
}
