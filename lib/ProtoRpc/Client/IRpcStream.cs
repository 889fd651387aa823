using Google.Protobuf;

namespace ProtoRpc.Client;

/// <summary>A call that runs, seen from the client.
/// Disposing it before its end cancels it on the server.</summary>
/// <remarks>One may send while another reads; neither is done by two at once.</remarks>
internal interface IRpcStream : IAsyncDisposable
{
    /// <summary>The message that was read, until the next one is.</summary>
    ReplyBody Current { get; }

    /// <summary>Sends a message; waits while the server does not take it.</summary>
    /// <param name="message">The message.</param>
    /// <param name="compress">Whether it is compressed where the call's messages are.</param>
    /// <returns>False when the server has ended the call: reading tells how.</returns>
    ValueTask<bool> SendAsync(IMessage message, bool compress);

    /// <summary>Tells the server that no further message comes.</summary>
    ValueTask CompleteAsync();

    /// <summary>Waits for the next message.</summary>
    /// <returns>False when the call has ended well.</returns>
    /// <exception cref="RpcException">The call failed.</exception>
    ValueTask<bool> ReadAsync();
}
