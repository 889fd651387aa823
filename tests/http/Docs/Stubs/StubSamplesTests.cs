using Shop;

namespace ProtoRpc.Http.Tests.Docs.Stubs;

/// <summary>Runs the code of docs/csharp/grpc-stubs.md with generated gRPC clients and services.</summary>
public static class StubSamplesTests
{
    [Fact]
    public static async Task A_generated_client_calls_a_generated_service()
    {
        PlaceRequest request = new() { Order = new Order { Id = "o1", Items = { "tea", "cups" } } };

        Assert.Equal(
            $"2{Environment.NewLine}",
            await StubSamples.ServeAsync("grpc://127.0.0.1:0", request, CancellationToken.None));
        Assert.Equal(
            $"An order is required.{Environment.NewLine}",
            await StubSamples.ServeAsync("grpc://127.0.0.1:0", new PlaceRequest(), CancellationToken.None));
    }
}
