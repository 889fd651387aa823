using ProtoRpc.Http.Tests.Client;
using Shop;

namespace ProtoRpc.Http.Tests.Docs;

/// <summary>Runs the code of docs/csharp/README.md and docs/csharp/errors.md.</summary>
public static class StartSamplesTests
{
    [Fact]
    public static async Task Serves_and_calls_the_first_method() => Assert.Equal(
        "o1: 1", (await StartSamples.StartAsync("grpc://127.0.0.1:0")).Trim());

    [Theory]
    [InlineData("tea", "Sold out: tea")]
    [InlineData("cups", "")]
    public static async Task Details_of_a_failure_are_read_as_generated_messages(string item, string output)
    {
        Order order = new() { Id = "o1", Items = { item } };

        string shown = await StartSamples.FailWithDetailAsync(
            OrderServer.Schema, "tcp://127.0.0.1:0", order);

        Assert.Equal(output, shown.Trim());
    }
}
