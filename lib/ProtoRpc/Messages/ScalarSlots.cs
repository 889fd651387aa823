using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace ProtoRpc.Messages;

/// <summary>The scalars of a message: the first lie in the message, the others in its store.</summary>
internal readonly ref struct ScalarSlots
{
    private readonly ref ulong _own;
    private readonly Span<ulong> _stored;

    public ScalarSlots(ref ulong own, Span<ulong> stored)
    {
        _own = ref own;
        _stored = stored;
    }

    public ref ulong this[int slot]
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            if ((uint)slot < DynamicMessage.OwnScalars)
            {
                return ref Unsafe.Add(ref _own, slot);
            }
            return ref _stored[slot - DynamicMessage.OwnScalars];
        }
    }

    private Span<ulong> Own => MemoryMarshal.CreateSpan(ref _own, DynamicMessage.OwnScalars);

    public bool SequenceEqual(ScalarSlots other) =>
        Own.SequenceEqual(other.Own) && _stored.SequenceEqual(other._stored);

    /// <summary>Sets all to 0.</summary>
    public void Clear()
    {
        Own.Clear();
        _stored.Clear();
    }

    /// <summary>Adds all to a hash.</summary>
    public void AddTo(ref HashCode hash)
    {
        hash.AddBytes(MemoryMarshal.AsBytes(Own));
        hash.AddBytes(MemoryMarshal.AsBytes(_stored));
    }
}
