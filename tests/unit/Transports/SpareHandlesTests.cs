using ProtoRpc.Transports;

namespace ProtoRpc.Tests.Transports;

public static class SpareHandlesTests
{
    [Theory]
    [InlineData("Max open files            1024                 524288               files     ", 992)]
    [InlineData("Max open files            64                   64                   files     ", 56)]
    [InlineData("Max open files            unlimited       unlimited       files   ", long.MaxValue)]
    [InlineData("Max open files", long.MaxValue)]
    [InlineData("", long.MaxValue)]
    public static void Some_handles_below_the_limit_are_not_for_connections(string line, long most) =>
        Assert.Equal(most, SpareHandles.MostOf(["Limit   Soft Limit   Hard Limit   Units", line]));
}
