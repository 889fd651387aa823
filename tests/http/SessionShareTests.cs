using System.Text;

namespace ProtoRpc.Http.Tests;

/// <summary>Sessions over HTTP, where a connection does not end them.</summary>
public sealed class SessionShareTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory();

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public async Task A_thousand_anonymous_calls_leave_sessions_for_others()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "a Unix socket says who calls on Unix only");
        using WordsServer server = new(
            "http://127.0.0.1:0/", further: $"grpc+unix://{Path.Combine(_folder.FullName, "s")}");
        using HttpClient anonymous = new();

        for (int i = 0; i < 1_000; i++)
        {
            using StringContent request = new("""{"text":"count"}""", Encoding.UTF8, "application/json");
            using HttpResponseMessage reply = await anonymous.PostAsync(
                $"{server.Endpoint}".TrimEnd('/') + "/streams.Words/Say", request,
                TestContext.Current.CancellationToken);
            Assert.True(reply.IsSuccessStatusCode, $"{reply.StatusCode}");
        }

        using RpcClient other = RpcClient.Connect(
            server.Server.Endpoints[1], WordsServer.Schema, new() { Service = "streams.Words" });
        foreach (string expected in new[] { "1", "2" })
        {
            Assert.Equal(expected, WordsServer.TextOf(
                other.Invoke(other.GetMethod("Say"), WordsServer.Text("count"))));
        }

        Assert.Equal(RpcLimits.Default.MaxSessionsPerCaller + 1, server.Server.Sessions.Count);
    }
}
