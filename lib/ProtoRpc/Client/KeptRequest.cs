using Google.Protobuf;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Client;

/// <summary>The request of a call as its channel sends it: encoded by the first try, and sent again by the
/// others.</summary>
/// <remarks>Safe for many threads: a try that was given up may still be sending. Disposing of it gives pooled
/// memory back.</remarks>
internal sealed class KeptRequest : IDisposable
{
    private const string What = "request";

    private readonly Lock _gate = new();
    private object? _encoded;
    private bool _disposed;

    /// <summary>What the first try has made of the request.</summary>
    /// <param name="kept">Where it is kept; null for a call that is tried once.</param>
    /// <param name="encode">Makes it. All tries of a call make the same of it.</param>
    public static T Of<T>(KeptRequest? kept, Func<T> encode)
        where T : class => kept is null ? encode() : kept.Of(encode);

    /// <summary>The request of a call in its binary form, for this try.</summary>
    /// <exception cref="RpcException">ResourceExhausted: it is larger than the limit; InvalidArgument: it is
    /// nested too deep.</exception>
    public static EncodedMessage Encode(CallSpec call, IMessage request, int maxBytes) => call.Kept is null
        ? EncodedMessage.Of(request, maxBytes, What)
        : call.Kept.Of(() => EncodedMessage.Keep(request, maxBytes, What)).Lend();

    public void Dispose()
    {
        lock (_gate)
        {
            _disposed = true;
            (_encoded as IDisposable)?.Dispose();
            _encoded = null;
        }
    }

    private T Of<T>(Func<T> encode)
        where T : class
    {
        lock (_gate)
        {
            if (_encoded is T encoded)
            {
                return encoded;
            }

            T made = encode();
            if (!_disposed)
            {
                _encoded = made;
            }

            return made;
        }
    }
}
