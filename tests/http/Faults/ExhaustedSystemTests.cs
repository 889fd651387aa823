using System.Diagnostics;

namespace ProtoRpc.Http.Tests.Faults;

/// <summary>A server on a system without room on the disk or threads.</summary>
public static class ExhaustedSystemTests
{
    private static readonly string[] Empty = ["--reply", "{}"];

    // A folder of its own that is soon full, for this process alone.
    private const string SmallDisk =
        "exec unshare --user --map-root-user --mount sh -c "
        + "'mount -t tmpfs -o size=2m none \"$TMPDIR\" && exec \"$@\"' sh \"$@\"";

    public static TheoryData<string> Endpoints =>
        ["tcp://127.0.0.1:0", "http://127.0.0.1:0/", "grpc://127.0.0.1:0"];

    [LinuxTheory]
    [MemberData(nameof(Endpoints))]
    public static async Task Calls_are_answered_while_access_log_and_recording_have_no_room(
        string endpoint)
    {
        using ToolServer server = await ToolServer.StartAsync(
            endpoint, [.. Empty, "--access-log", "/dev/full", "--record", "/dev/full"]);
        using RpcClient client = server.Connect();
        for (int i = 0; i < 20; i++)
        {
            await client.InvokeAsync("Say", new { text = "x" });
        }

        server.Signal("TERM");
        await server.EndsAsync();
        string[] warnings =
            [.. (await server.Errors).Split('\n').Where(line => line.Contains("/dev/full"))];
        Assert.InRange(warnings.Length, 1, 4);
    }

    [LinuxTheory]
    [MemberData(nameof(Endpoints))]
    public static async Task With_few_threads_calls_that_hang_hold_up_no_other(string endpoint)
    {
        using Journal journal = new();
        using ToolServer server = await ToolServer.StartAsync(
            endpoint,
            ["--exec-keep", $"Say=sh {journal.In("handler.sh")} {journal.In("journal")} {journal.In("wait")}",
                "--exec-limit", "40", "--reply", "Join={\"text\":\"joined\"}"],
            variables: ("DOTNET_ThreadPool_ForceMaxWorkerThreads", "2"));
        journal.Hold();
        using CancellationTokenSource end = new();
        using RpcClient client = server.Connect();
        Task<RpcException>[] hanging =
        [
            .. Enumerable.Range(0, 32).Select(i => Assert.ThrowsAsync<RpcException>(
                () => client.InvokeAsync("Say", new { text = $"call-0-{i}" }, cancellationToken: end.Token))),
        ];
        await ToolServer.UntilAsync(() => journal.Ran.Length == hanging.Length, "the calls that hang");

        // They hang until their caller gives up: what they hold up never comes, on the slowest machine too.
        using RpcClient other = server.Connect();
        await other.PingAsync().WaitAsync(ToolServer.Patience);
        RpcException late = await Assert.ThrowsAsync<RpcException>(() => other.InvokeAsync(
            "Say", new { text = "call-1-0" }, new RpcCallOptions { Timeout = TimeSpan.FromSeconds(1) }));
        Assert.Equal(RpcStatusCode.DeadlineExceeded, late.Code);
        Assert.All(hanging, call => Assert.False(call.IsCompleted));

        await end.CancelAsync();
        RpcException[] errors = await Task.WhenAll(hanging).WaitAsync(ToolServer.Patience);
        Assert.All(errors, error => Assert.Equal(RpcStatusCode.Cancelled, error.Code));
        journal.Release();
        DynamicMessage reply = await client.InvokeAsync("Say", new { text = "call-2-0" })
            .WaitAsync(ToolServer.Patience);
        Assert.Equal("done", WordsServer.TextOf(reply));
    }

    [LinuxFact]
    public static async Task A_message_in_parts_that_the_disk_cannot_keep_is_refused_and_the_next_is_taken()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("protorpc-");
        try
        {
            if (!CanMount(folder))
            {
                return;
            }

            // The name of the local endpoint would be on the small disk as well.
            using ToolServer server = await ToolServer.StartAsync(
                "tcp://127.0.0.1:0", Empty, SmallDisk, ("TMPDIR", folder.FullName));
            using RpcClient client = server.Connect(
                new() { Limits = new() { MultiPartThreshold = 2048 } });
            RpcException error = await Assert.ThrowsAsync<RpcException>(() => SendAsync(client, 3_000_000));
            Assert.Equal(RpcStatusCode.ResourceExhausted, error.Code);
            Assert.Contains("disk", error.Message, StringComparison.Ordinal);
            Assert.DoesNotContain(folder.FullName, error.Message, StringComparison.Ordinal);

            // Small parts that are left half way are swept away later, also with a full disk.
            string filler = $"/proc/{server.Id}/root{folder.FullName}/filler";
            Fill(filler);
            await Assert.ThrowsAsync<RpcException>(() => SendAsync(client, 1_100_000));
            File.Delete(filler);
            await SendAsync(client, 1_100_000);
            await SendAsync(client, 10);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    private static Task SendAsync(RpcClient client, int size) =>
        client.InvokeAsync("Say", WordsServer.Payload(size)).WaitAsync(ToolServer.Patience);

    private static void Fill(string path)
    {
        try
        {
            File.WriteAllBytes(path, new byte[4 * 1024 * 1024]);
        }
        catch (IOException)
        {
            // That was the purpose.
        }
    }

    private static bool CanMount(DirectoryInfo folder)
    {
        ProcessStartInfo start = new("sh", ["-c", SmallDisk, "sh", "true"]) { RedirectStandardError = true };
        start.Environment["TMPDIR"] = folder.FullName;
        using Process process = Process.Start(start)!;
        process.WaitForExit();
        return process.ExitCode == 0;
    }
}
