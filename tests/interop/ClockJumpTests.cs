using System.Diagnostics;
using System.Globalization;

namespace ProtoRpc.Interop;

/// <summary>A server whose clock is set while it serves (libfaketime).</summary>
public static class ClockJumpTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [PeerTheory(Peer.FakeTime)]
    [InlineData("tcp://127.0.0.1:0", "+1d")]
    [InlineData("tcp://127.0.0.1:0", "-1d")]
    [InlineData("http://127.0.0.1:0/", "+1d")]
    [InlineData("http://127.0.0.1:0/", "-1d")]
    [InlineData("grpc://127.0.0.1:0", "+1d")]
    [InlineData("grpc://127.0.0.1:0", "-1d")]
    public static async Task A_clock_that_is_set_ends_no_call_and_keeps_none(string endpoint, string jump)
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            string clock = Path.Combine(folder.FullName, "clock");
            string wait = Path.Combine(folder.FullName, "wait");
            string started = Path.Combine(folder.FullName, "started");
            string handler = Path.Combine(folder.FullName, "handler.sh");
            string schema = Path.Combine(folder.FullName, "words.bin");
            File.WriteAllText(clock, "+0");

            // With libfaketime, waits that have a limit end at once, also that for protoc.
            File.WriteAllBytes(schema, WordsServer.Schema.ToDescriptorSet());
            File.WriteAllText(wait, "");
            File.WriteAllText(handler, $$$"""
                while IFS= read -r line; do
                  echo started >> {{{started}}}
                  while [ -e {{{wait}}} ]; do sleep 0.02; done
                  echo '{"reply":{"text":"done"}}'
                done
                """);
            using PeerProcess server = Start(endpoint, clock, schema, handler);
            string bound = (await server.ReadLineAsync()).Replace("Listening on ", "");
            using RpcClient client = RpcClient.Connect(
                bound, WordsServer.Schema, new RpcClientOptions { Service = "streams.Words", Lazy = true });

            // The clock is set while a handler runs.
            Task<DynamicMessage> patient = CallAsync(client, TimeSpan.FromSeconds(60));
            await UntilAsync(() => File.Exists(started));
            Task<RpcException> late = Assert.ThrowsAsync<RpcException>(
                () => CallAsync(client, TimeSpan.FromSeconds(2)));
            await UntilAsync(() => File.ReadAllLines(started).Length == 2);
            File.WriteAllText(clock, jump);
            long start = Stopwatch.GetTimestamp();

            Assert.Equal(RpcStatusCode.DeadlineExceeded, (await late.WaitAsync(Patience)).Code);
            Assert.False(patient.IsCompleted);
            File.Delete(wait);
            Assert.Equal("done", WordsServer.TextOf(await patient.WaitAsync(Patience)));

            // And calls begin as before.
            Assert.Equal(
                "done", WordsServer.TextOf(await CallAsync(client, TimeSpan.FromSeconds(20))));
            Assert.InRange(Stopwatch.GetElapsedTime(start), TimeSpan.Zero, Patience);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private static Task<DynamicMessage> CallAsync(RpcClient client, TimeSpan timeout) =>
        client.InvokeAsync("Say", new { text = "x" }, new RpcCallOptions { Timeout = timeout });

    private static PeerProcess Start(string endpoint, string clock, string schema, string handler)
    {
        Dictionary<string, string?> variables = new()
        {
            ["LD_PRELOAD"] = Peers.FakeTimeLibrary,
            ["FAKETIME_TIMESTAMP_FILE"] = clock,
            ["FAKETIME_NO_CACHE"] = "1",

            // Setting a machine's clock leaves the time since its start as it is.
            ["FAKETIME_DONT_FAKE_MONOTONIC"] = "1",
        };
        return PeerProcess.Start(
            "dotnet", variables,
            [
                "exec", Path.Combine(AppContext.BaseDirectory, "ProtoRpc.Tool.dll"), "listen", endpoint,
                "--schema", schema, "--service", "streams.Words", "--quiet", "--exec-keep", $"sh {handler}",
                "--exec-limit", 4.ToString(CultureInfo.InvariantCulture),
            ]);
    }

    private static async Task UntilAsync(Func<bool> condition)
    {
        long start = Stopwatch.GetTimestamp();
        while (!condition())
        {
            Assert.True(Stopwatch.GetElapsedTime(start) < Patience, "Nothing happened in time.");
            await Task.Delay(10);
        }
    }
}
