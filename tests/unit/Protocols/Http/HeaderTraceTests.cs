using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Tests.Protocols.Http;

public static class HeaderTraceTests
{
    [Theory]
    [InlineData("authorization")]
    [InlineData("Authorization")]
    [InlineData("Proxy-Authorization")]
    [InlineData("WWW-Authenticate")]
    [InlineData("Cookie")]
    [InlineData("set-cookie")]
    [InlineData("x-api-key")]
    [InlineData("X-Auth-Token")]
    [InlineData("x-password")]
    [InlineData("session-id")]
    [InlineData("custom-bin")]
    [InlineData("grpc-status-details-bin")]
    [InlineData(HttpNames.CallContext)]
    public static void Leaves_out_what_proves_who_somebody_is_and_what_is_binary(string name) =>
        Assert.Equal($"; {name}: (6 characters)", HeaderTrace.TextOf([new(name, "s3cret")]));

    [Theory]
    [InlineData("content-type", "application/grpc")]
    [InlineData("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")]
    [InlineData("x-tenant", "blue")]
    public static void Shows_the_others(string name, string value) =>
        Assert.Equal($"; {name}: {value}", HeaderTrace.TextOf([new(name, value)]));

    [Fact]
    public static void Is_bounded()
    {
        string text = HeaderTrace.TextOf(Enumerable.Range(0, 10_000)
            .Select(i => KeyValuePair.Create($"x-{i}", new string('x', 10_000))));

        Assert.InRange(text.Length, 1, 10_000);
        Assert.EndsWith("; and 9950 more", text);
    }
}
