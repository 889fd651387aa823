using ProtoRpc.Tests.Client.Talk;

namespace ProtoRpc.Tests.Client.InProcess;

public static class InProcessStreamTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    [Fact]
    public static async Task Streams_replies_requests_and_both()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();

        List<string> split = [];
        await foreach (Words word in client.InvokeServerStreamAsync<Words>(
            "Split", new Words { Text = "a b c" }))
        {
            split.Add(word.Text);
        }

        await using RpcStreamingCall<Words, Words> join = client.Open<Words, Words>("Join");
        foreach (string word in split)
        {
            Assert.True(await join.SendAsync(new Words { Text = word }));
        }

        await join.CompleteAsync();
        Assert.True(await join.ReadAsync());
        Assert.Equal("a b c", join.Current.Text);
        Assert.False(await join.ReadAsync());

        await using RpcStreamingCall<Words, Words> chat = client.Open<Words, Words>("Chat");
        foreach (string word in split)
        {
            // One at a time: each answer comes before the next question.
            Assert.True(await chat.SendAsync(new Words { Text = word }));
            Assert.True(await chat.ReadAsync().AsTask().WaitAsync(Patience));
            Assert.Equal(word.ToUpperInvariant(), chat.Current.Text);
        }

        await chat.CompleteAsync();
        Assert.False(await chat.ReadAsync());
    }

    [Fact]
    public static async Task A_sender_waits_for_a_reader_and_nothing_is_lost()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();
        const int Count = 5000;

        await using RpcStreamingCall<Words, Words> chat = client.Open<Words, Words>("Chat");
        Task sending = Task.Run(async () =>
        {
            for (int i = 0; i < Count; i++)
            {
                await chat.SendAsync(new Words { Text = $"n{i}" });
            }

            await chat.CompleteAsync();
        });
        int read = 0;
        while (await chat.ReadAsync())
        {
            Assert.Equal($"N{read++}", chat.Current.Text);
        }

        await sending.WaitAsync(Patience);
        Assert.Equal(Count, read);
    }

    [Fact]
    public static async Task A_stream_that_nobody_reads_holds_up_its_handler_until_it_is_disposed()
    {
        using TalkServer talk = new();
        using RpcClient client = talk.Connect();
        RpcStreamingCall<Words, Words> call = client.Open<Words, Words>("Split");

        await call.SendAsync(new Words { Text = string.Join(' ', Enumerable.Repeat("x", 1000)) });
        await call.CompleteAsync();
        Assert.True(await call.ReadAsync());
        Assert.Equal(1, talk.Server.Counters.InFlight);
        await call.DisposeAsync();

        await Until(() => talk.Server.Counters.InFlight == 0);
    }

    private static async Task Until(Func<bool> holds)
    {
        using CancellationTokenSource patience = new(Patience);
        while (!holds())
        {
            await Task.Delay(5, patience.Token);
        }
    }
}
