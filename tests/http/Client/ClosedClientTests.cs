namespace ProtoRpc.Http.Tests.Client;

/// <summary>Clients that are closed while they call.</summary>
public static class ClosedClientTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    public static TheoryData<string, bool> Endpoints
    {
        get
        {
            TheoryData<string, bool> data = [];
            foreach (string endpoint in new[]
            {
                "tcp://127.0.0.1:0", "local://", "http://127.0.0.1:0/", "grpc://127.0.0.1:0", "inproc://",
            })
            {
                data.Add(endpoint, false);
                data.Add(endpoint, true);
            }

            return data;
        }
    }

    [Theory]
    [MemberData(nameof(Endpoints))]
    public static async Task A_call_of_a_client_that_is_closed_fails_and_is_cancelled_on_the_server(
        string endpoint, bool blocks)
    {
        using WordsServer server = new(
            endpoint.EndsWith("://", StringComparison.Ordinal)
                ? $"{endpoint}c{Guid.NewGuid():N}"[..24]
                : endpoint);
        RpcClient client = server.Connect();
        RpcCallOptions options = new() { Timeout = 2 * Patience };
        Task<DynamicMessage> call = blocks
            ? Task.Run(() => client.Invoke("Say", WordsServer.Text("wait"), options))
            : client.InvokeAsync("Say", WordsServer.Text("wait"), options);
        await server.Waiting.Task.WaitAsync(Patience);

        await client.DisposeAsync();

        RpcException error = await Assert.ThrowsAsync<RpcException>(() => call.WaitAsync(Patience));
        Assert.True(error.MayHaveExecuted);
        Assert.Contains(error.Code, new[] { RpcStatusCode.Cancelled, RpcStatusCode.Unavailable });
        Assert.Equal("cancelled", await server.Ended.Task.WaitAsync(Patience));
    }
}
