using Google.Protobuf;
using ProtoRpc.Server.Recording;

namespace ProtoRpc.Mocks;

/// <summary>Answers from recorded calls of one method: that of the same requests, else the next
/// one.</summary>
internal sealed class ReplayedAnswers : MockAnswers
{
    private readonly Lock _gate = new();
    private readonly IReadOnlyList<ReplayedCall> _calls;
    private readonly IReadOnlyList<MessageMask> _masks;
    private readonly Dictionary<string, Queue<int>> _byRequests = new(StringComparer.Ordinal);
    private readonly HashSet<int> _played = [];
    private int _next;

    public ReplayedAnswers(IReadOnlyList<ReplayedCall> calls)
    {
        _calls = calls;
        _masks =
        [
            .. calls.Select(call => call.Mask)
                .DistinctBy(names => string.Join('\n', names), StringComparer.Ordinal)
                .Select(names => new MessageMask(names)),
        ];
        Fill();
    }

    /// <inheritdoc/>
    public override bool NeedsRequests => true;

    /// <inheritdoc/>
    public override MockAnswer Next(IMessage? request) => Next(request is null ? [] : [request]);

    /// <inheritdoc/>
    public override MockAnswer Next(IReadOnlyList<IMessage> requests)
    {
        string[] keys = [.. _masks.Select(mask => KeyOf(requests, mask))];
        lock (_gate)
        {
            foreach (string key in keys)
            {
                if (_byRequests.TryGetValue(key, out Queue<int>? same))
                {
                    int index = same.Count > 1 ? same.Dequeue() : same.Peek();
                    _played.Add(index);
                    return _calls[index].Answer;
                }
            }

            // Answers before it have all been given, so that each is passed over once.
            while (_next < _calls.Count - 1 && _played.Contains(_next))
            {
                _next++;
            }

            _played.Add(_next);
            return _calls[_next].Answer;
        }
    }

    /// <inheritdoc/>
    public override void Reset()
    {
        lock (_gate)
        {
            Fill();
        }
    }

    private void Fill()
    {
        _next = 0;
        _played.Clear();
        _byRequests.Clear();
        for (int i = 0; i < _calls.Count; i++)
        {
            string key = KeyOf(_calls[i].Requests, new MessageMask(_calls[i].Mask));
            if (!_byRequests.TryGetValue(key, out Queue<int>? same))
            {
                _byRequests.Add(key, same = new Queue<int>());
            }

            same.Enqueue(i);
        }
    }

    // The same messages have the same JSON, whose maps are in the order of their keys; and what the record
    // hides counts for nothing.
    private static string KeyOf(IReadOnlyList<IMessage> requests, MessageMask mask) =>
        string.Join('\n', requests.Select(request =>
        {
            DynamicMessage copy = new(((DynamicMessage)request).Type);
            copy.MergeFrom(request.ToByteArray());
            mask.Apply(copy, []);
            return TextOf(copy);
        }).Prepend(string.Join('.', mask.Names)));

    private static string TextOf(DynamicMessage message)
    {
        try
        {
            return MessageFormats.Json.ToText(message);
        }
        catch (RpcException)
        {
            return Convert.ToBase64String(message.ToByteArray());
        }
    }
}

/// <summary>A call of a file of recorded calls.</summary>
/// <param name="Method">The method.</param>
/// <param name="Requests">What it was called with.</param>
/// <param name="Answer">What it was answered.</param>
/// <param name="Mask">The fields that the requests were written without.</param>
internal sealed record ReplayedCall(
    RpcMethodInfo Method, IReadOnlyList<DynamicMessage> Requests, MockAnswer Answer,
    IReadOnlyList<string> Mask);
