using ProtoRpc.Transports.Http;

namespace ProtoRpc.Tests.Transports;

public static class ServerGreetingsTests
{
    [Fact]
    public static void A_server_that_has_spoken_on_an_open_connection_is_not_silent()
    {
        ServerGreetings greetings = new();
        int connection = 0;
        int before = greetings.Mark;

        greetings.Begin(ref connection);

        Assert.False(greetings.IsSilentSince(before));
        Assert.False(greetings.IsSilentSince(greetings.Mark));
    }

    [Fact]
    public static void A_server_can_be_silent_again_when_its_connections_have_ended()
    {
        ServerGreetings greetings = new();
        int connection = 0;
        greetings.Begin(ref connection);
        greetings.End(ref connection);
        greetings.End(ref connection);

        Assert.True(greetings.IsSilentSince(greetings.Mark));
    }

    [Fact]
    public static void A_connection_that_is_disposed_before_its_greeting_is_read_is_not_counted_as_open()
    {
        ServerGreetings greetings = new();
        int connection = 0;
        int before = greetings.Mark;
        greetings.End(ref connection);

        greetings.Begin(ref connection);

        Assert.False(greetings.IsSilentSince(before));
        Assert.True(greetings.IsSilentSince(greetings.Mark));
    }
}
