using Google.Protobuf;
using ProtoRpc.Server;

namespace ProtoRpc.Mocks;

/// <summary>A method of a mock. Its answers can be replaced while the server listens.</summary>
/// <param name="mock">The mock.</param>
/// <param name="info">The method.</param>
internal sealed class MockMethod(RpcMock mock, RpcMethodInfo info) : RpcMethodHandler
{
    private readonly TemplateAnswers _template = new(info);
    private volatile MockAnswers? _given;
    private volatile MockAnswers? _replayed;
    private (MockAnswers? Given, MockAnswers? Replayed)? _first;

    public RpcMethodInfo Info => info;

    /// <summary>What the test gave; null for nothing.</summary>
    public MockAnswers? Given
    {
        get => _given;
        set => _given = value;
    }

    /// <summary>What a file of recorded calls gave; null for nothing. It counts less than what the test
    /// gave.</summary>
    public MockAnswers? Replayed
    {
        get => _replayed;
        set => _replayed = value;
    }

    /// <summary>Keeps the answers for <see cref="Reset"/>.</summary>
    public void KeepFirst() => _first = (_given, _replayed);

    /// <summary>Sets the answers back to those that were kept, from the first one on.</summary>
    public void Reset()
    {
        if (_first is { } first)
        {
            (_given, _replayed) = first;
        }

        _given?.Reset();
        _replayed?.Reset();
    }

    /// <inheritdoc/>
    internal override ServerMethod Bind(RpcMethodInfo method) =>
        new(method, AnswerAsync, AnswerStreamAsync) { GivesBytes = true };

    private MockAnswers Answers => _given ?? _replayed ?? _template;

    private async ValueTask<IMessage> AnswerAsync(RpcServerCallContext context, IMessage request)
    {
        // In the order of the calls, even if their replies take different times.
        MockAnswer answer = Answers.Next(request);
        await mock.WaitAsync(context).ConfigureAwait(false);
        return await answer.AnswerAsync(context, request).ConfigureAwait(false);
    }

    private async ValueTask AnswerStreamAsync(RpcServerCallContext context, RpcServerStream stream)
    {
        MockAnswers answers = Answers;
        MockAnswer answer;
        if (!info.IsClientStreaming)
        {
            answer = answers.Next(await stream.PeekAsync().ConfigureAwait(false));
        }
        else if (answers.NeedsRequests && !info.IsServerStreaming)
        {
            List<IMessage> requests = [];
            while (await stream.ReadAsync().ConfigureAwait(false) is { } request)
            {
                requests.Add(request);
            }

            answer = answers.Next(requests);
        }
        else
        {
            answer = answers.Next((IMessage?)null);
        }

        await mock.WaitAsync(context).ConfigureAwait(false);
        await answer.AnswerAsync(context, stream).ConfigureAwait(false);
    }
}
