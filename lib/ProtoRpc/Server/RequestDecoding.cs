using ProtoRpc.Messages;
using ProtoRpc.Protocols;

namespace ProtoRpc.Server;

/// <summary>Counts the memory that decoding a request takes, and ends it when nobody waits for the
/// call.</summary>
/// <remarks>A request is decoded on one thread. What that thread allocates meanwhile is what the message
/// takes, in every format and for every kind of message; arrays of lists that grew are counted as
/// well.</remarks>
internal struct RequestDecoding(RpcServerCallContext context)
{
    private readonly long _start = GC.GetAllocatedBytesForCurrentThread();
    private LongRequest? _long;

    /// <summary>What long requests call again and again while they are decoded; null for a short
    /// one.</summary>
    public Action? LookFor(long bytes)
    {
        if (bytes <= ElementBudget.BytesPerLook)
        {
            return null;
        }

        _long = new LongRequest(context, _start);
        return _long.Look;
    }

    /// <summary>Counts a message that is decoded.</summary>
    /// <exception cref="RpcException">ResourceExhausted: there is no room for it.</exception>
    public readonly void End()
    {
        if (_long is not null)
        {
            _long.Count();
        }
        else
        {
            context.Memory?.HoldDecoded(GC.GetAllocatedBytesForCurrentThread() - _start);
        }
    }

    private sealed class LongRequest(RpcServerCallContext context, long start)
    {
        private readonly RequestMemory.Share? _memory = context.Memory;
        private long _counted = start;

        public void Look()
        {
            Count();
            context.Clock.Aborted.ThrowIfCancellationRequested();
            context.Clock.RequireTime();
        }

        public void Count()
        {
            long allocated = GC.GetAllocatedBytesForCurrentThread();
            _memory?.HoldDecoded(allocated - _counted);
            _counted = allocated;
        }
    }
}
