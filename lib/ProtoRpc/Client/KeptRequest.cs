using Google.Protobuf;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Client;

/// <summary>The encoded request of a call. The first attempt encodes it, and retries send it again.</summary>
/// <remarks>Thread-safe, because an abandoned attempt may still be sending. Disposing returns pooled
/// memory.</remarks>
internal sealed class KeptRequest : IDisposable
{
    private const string What = "request";

    private readonly Lock _gate = new();
    private object? _encoded;
    private bool _disposed;

    /// <summary>Returns the request as the first attempt encoded it.</summary>
    /// <param name="kept">Keeps the request; null for a call that is not retried.</param>
    /// <param name="encode">Encodes the request. All attempts of a call use the same encoding.</param>
    public static T Of<T>(KeptRequest? kept, Func<T> encode)
        where T : class => kept is null ? encode() : kept.Of(encode);

    /// <summary>The request of a call in the binary form, for this attempt.</summary>
    /// <exception cref="RpcException">ResourceExhausted: the request is larger than the limit.
    /// InvalidArgument: it is nested too deeply.</exception>
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
