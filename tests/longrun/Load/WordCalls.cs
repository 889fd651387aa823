using System.Globalization;

namespace ProtoRpc.LongRun.Load;

/// <summary>Calls of each kind, with the answer that is expected; any other answer is a failure.</summary>
internal static class WordCalls
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan Moment = TimeSpan.FromMilliseconds(20);

    /// <summary>One call of a kind that the endpoint carries.</summary>
    public static Task AnyAsync(Place place, RpcClient client, Random random) => random.Next(20) switch
    {
        < 8 => SayAsync(client, random),
        < 10 => LargeAsync(client, random),
        10 => FailAsync(client),
        11 => LateAsync(client),
        12 => GivenUpAsync(client),
        < 15 when place.StreamsReplies => SplitAsync(client, random),
        15 when place.StreamsReplies => HalfReadAsync(client),
        16 when place.StreamsRequests => JoinAsync(client, random),
        17 when place.StreamsRequests => ChatAsync(client, random),
        _ => SayAsync(client, random),
    };

    public static async Task SayAsync(RpcClient client, Random random)
    {
        string text = $"n{random.Next()}";
        DynamicMessage reply = await client.InvokeAsync("Say", new { text }, Options());
        Require(WordsServer.TextOf(reply) == text, "the echo of another text");
    }

    /// <summary>The calls of a session are counted from one call to the next.</summary>
    public static async Task CountAsync(RpcClient client, int expected)
    {
        DynamicMessage reply = await client.InvokeAsync("Say", new { text = "count" }, Options());
        string count = WordsServer.TextOf(reply);
        Require(
            count == expected.ToString(CultureInfo.InvariantCulture),
            $"call {expected} of a session was counted as {count}");
    }

    // Up to a message of four parts, where messages go in parts.
    private static async Task LargeAsync(RpcClient client, Random random)
    {
        DynamicMessage request = WordsServer.Payload(random.Next(4 * Place.PartBytes));
        DynamicMessage reply = await client.InvokeAsync("Say", request, Options());
        Require(reply.Equals(request), "a large message changed on its way");
    }

    private static Task FailAsync(RpcClient client) =>
        ExpectAsync(RpcStatusCode.NotFound, client.InvokeAsync("Say", new { text = "fail" }, Options()));

    private static Task LateAsync(RpcClient client) => ExpectAsync(
        RpcStatusCode.DeadlineExceeded,
        client.InvokeAsync("Say", new { text = "wait" }, new RpcCallOptions { Timeout = Moment }));

    private static async Task GivenUpAsync(RpcClient client)
    {
        using CancellationTokenSource soon = new(Moment);
        try
        {
            await client.InvokeAsync("Say", new { text = "wait" }, Options(), soon.Token);
        }
        catch (Exception e)
            when (e is OperationCanceledException or RpcException { Code: RpcStatusCode.Cancelled })
        {
            return;
        }

        throw new InvalidOperationException("a call that was given up was answered");
    }

    private static async Task SplitAsync(RpcClient client, Random random)
    {
        string[] words = [.. Enumerable.Range(0, random.Next(1, 20)).Select(i => $"w{i}")];
        List<string> replies = [];
        await foreach (DynamicMessage reply in client.InvokeServerStreamAsync(
            "Split", new { text = string.Join(' ', words) }, Options()))
        {
            replies.Add(WordsServer.TextOf(reply));
        }

        Require(replies.SequenceEqual(words), "a stream of other replies");
    }

    // The server waits in the middle of the stream, and its client leaves.
    private static async Task HalfReadAsync(RpcClient client)
    {
        await foreach (DynamicMessage reply in client.InvokeServerStreamAsync(
            "Split", new { text = "one wait two" }, Options()))
        {
            Require(WordsServer.TextOf(reply) == "one", "another first reply");
            return;
        }

        throw new InvalidOperationException("a stream ended before its first reply");
    }

    private static async Task JoinAsync(RpcClient client, Random random)
    {
        string[] words = [.. Enumerable.Range(0, random.Next(1, 20)).Select(i => $"w{i}")];
        DynamicMessage reply = await client.InvokeClientStreamAsync("Join", Requests(words), Options());
        Require(WordsServer.TextOf(reply) == string.Join(' ', words), "words were lost");
    }

    private static async Task ChatAsync(RpcClient client, Random random)
    {
        await using RpcStreamingCall call = await client.OpenAsync("Chat", Options());
        for (int i = random.Next(1, 5); i > 0; i--)
        {
            await call.SendAsync(new { text = $"c{i}" });
            Require(
                await call.ReadAsync() && WordsServer.TextOf(call.Current) == $"c{i}!", "another answer");
        }

        await call.CompleteAsync();
        Require(!await call.ReadAsync(), "more answers than questions");
    }

    private static async IAsyncEnumerable<object> Requests(string[] words)
    {
        foreach (string text in words)
        {
            await Task.Yield();
            yield return new { text };
        }
    }

    private static async Task ExpectAsync(RpcStatusCode code, Task<DynamicMessage> call)
    {
        try
        {
            await call;
        }
        catch (RpcException e) when (e.Code == code)
        {
            return;
        }

        throw new InvalidOperationException($"a call that ends with {code} was answered");
    }

    private static RpcCallOptions Options() => new() { Timeout = Patience };

    private static void Require(bool holds, string otherwise)
    {
        if (!holds)
        {
            throw new InvalidOperationException(otherwise);
        }
    }
}
