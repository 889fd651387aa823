using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace ProtoRpc.Messages;

/// <summary>The shape of the stores of a layout's messages.</summary>
internal abstract class MessageShape
{
    private const int MaxSlots = 8;

    private static readonly MessageShape?[] Known = new MessageShape?[(MaxSlots + 1) * (MaxSlots + 1)];

    /// <summary>Whether the values lie in arrays, and not in the store.</summary>
    public virtual bool IsWide => false;

    /// <summary>Where the scalars lie in a store.</summary>
    public nint ScalarOffset { get; protected init; }

    /// <summary>Where the references lie in a store.</summary>
    public nint ReferenceOffset { get; protected init; }

    /// <summary>Makes an empty store.</summary>
    public abstract MessageStore New(MessageLayout layout);

    /// <summary>The shape of stores with these numbers of values; null for none.</summary>
    public static MessageShape? Create(int scalars, int references)
    {
        if (scalars <= 0 && references == 0)
        {
            return null;
        }
        if (scalars > MaxSlots || references > MaxSlots)
        {
            return new MessageStore.Wide.Shape();
        }
        int rest = Math.Max(scalars, 0);
        return Known[(rest * (MaxSlots + 1)) + references] ??= OfScalars(rest, references);
    }

    private static MessageShape OfScalars(int scalars, int references) => scalars switch
    {
        0 => OfReferences(references),
        1 => OfBoth<Scalars1>(references),
        2 => OfBoth<Scalars2>(references),
        3 => OfBoth<Scalars3>(references),
        4 => OfBoth<Scalars4>(references),
        5 => OfBoth<Scalars5>(references),
        6 => OfBoth<Scalars6>(references),
        7 => OfBoth<Scalars7>(references),
        _ => OfBoth<Scalars8>(references),
    };

    private static MessageShape OfReferences(int references) => references switch
    {
        1 => new MessageStore.OfReferences<References1>.Shape(),
        2 => new MessageStore.OfReferences<References2>.Shape(),
        3 => new MessageStore.OfReferences<References3>.Shape(),
        4 => new MessageStore.OfReferences<References4>.Shape(),
        5 => new MessageStore.OfReferences<References5>.Shape(),
        6 => new MessageStore.OfReferences<References6>.Shape(),
        7 => new MessageStore.OfReferences<References7>.Shape(),
        _ => new MessageStore.OfReferences<References8>.Shape(),
    };

    private static MessageShape OfBoth<TScalars>(int references)
        where TScalars : struct => references switch
        {
            0 => new MessageStore.OfBoth<TScalars, NoSlots>.Shape(),
            1 => new MessageStore.OfBoth<TScalars, References1>.Shape(),
            2 => new MessageStore.OfBoth<TScalars, References2>.Shape(),
            3 => new MessageStore.OfBoth<TScalars, References3>.Shape(),
            4 => new MessageStore.OfBoth<TScalars, References4>.Shape(),
            5 => new MessageStore.OfBoth<TScalars, References5>.Shape(),
            6 => new MessageStore.OfBoth<TScalars, References6>.Shape(),
            7 => new MessageStore.OfBoth<TScalars, References7>.Shape(),
            _ => new MessageStore.OfBoth<TScalars, References8>.Shape(),
        };
}

// The values of a MessageStore, in the number that its fields need. Not generic over the type of the values,
// because the runtime would then look up the class for each new store.

internal struct NoSlots;

[InlineArray(1)]
internal struct Scalars1 { private ulong _first; }

[InlineArray(2)]
internal struct Scalars2 { private ulong _first; }

[InlineArray(3)]
internal struct Scalars3 { private ulong _first; }

[InlineArray(4)]
internal struct Scalars4 { private ulong _first; }

[InlineArray(5)]
internal struct Scalars5 { private ulong _first; }

[InlineArray(6)]
internal struct Scalars6 { private ulong _first; }

[InlineArray(7)]
internal struct Scalars7 { private ulong _first; }

[InlineArray(8)]
internal struct Scalars8 { private ulong _first; }

[InlineArray(1)]
internal struct References1 { private object? _first; }

[InlineArray(2)]
internal struct References2 { private object? _first; }

[InlineArray(3)]
internal struct References3 { private object? _first; }

[InlineArray(4)]
internal struct References4 { private object? _first; }

[InlineArray(5)]
internal struct References5 { private object? _first; }

[InlineArray(6)]
internal struct References6 { private object? _first; }

[InlineArray(7)]
internal struct References7 { private object? _first; }

[InlineArray(8)]
internal struct References8 { private object? _first; }

/// <summary>Holds the values of a message, but for its first scalars, in one object of just their
/// size.</summary>
/// <remarks>Most messages are small. Arrays for their values would make three objects of each message, and of
/// most of them twice as many bytes.</remarks>
internal abstract class MessageStore
{
    /// <summary>The offset of a part of this store from its start.</summary>
    protected nint OffsetOf<T>(ref T part) =>
        Unsafe.ByteOffset(ref At<byte>(0), ref Unsafe.As<T, byte>(ref part));

    /// <summary>A part by its offset.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public ref T At<T>(nint offset) =>
        ref Unsafe.As<byte, T>(ref Unsafe.AddByteOffset(ref Unsafe.As<Start>(this).First, offset));

    /// <summary>For up to eight references.</summary>
    public sealed class OfReferences<TReferences> : MessageStore
        where TReferences : struct
    {
        private TReferences _references;

        /// <summary>The layout of the values.</summary>
        public sealed class Shape : MessageShape
        {
            public Shape()
            {
                OfReferences<TReferences> store = new();
                ReferenceOffset = store.OffsetOf(ref store._references);
            }

            public override MessageStore New(MessageLayout layout) => new OfReferences<TReferences>();
        }
    }

    /// <summary>For up to eight scalars and up to eight references.</summary>
    public sealed class OfBoth<TScalars, TReferences> : MessageStore
        where TScalars : struct
        where TReferences : struct
    {
        private TScalars _scalars;
        private TReferences _references;

        /// <summary>The layout of the values.</summary>
        public sealed class Shape : MessageShape
        {
            public Shape()
            {
                OfBoth<TScalars, TReferences> store = new();
                ScalarOffset = store.OffsetOf(ref store._scalars);
                ReferenceOffset = store.OffsetOf(ref store._references);
            }

            public override MessageStore New(MessageLayout layout) => new OfBoth<TScalars, TReferences>();
        }
    }

    /// <summary>For any number.</summary>
    public sealed class Wide(int scalars, int references) : MessageStore
    {
        public readonly ulong[] Scalars = scalars == 0 ? [] : new ulong[scalars];
        public readonly object?[] References = references == 0 ? [] : new object?[references];

        /// <summary>Makes such stores.</summary>
        public sealed class Shape : MessageShape
        {
            public override bool IsWide => true;

            public override MessageStore New(MessageLayout layout) =>
                new Wide(Math.Max(0, layout.ScalarCount - DynamicMessage.OwnScalars), layout.ReferenceCount);
        }
    }

    // Used with Unsafe.As to access the first byte after an object's header.
    private sealed class Start
    {
        public byte First;
    }
}

/// <summary>The scalars of a message: the first lie in the message, the others in its store.</summary>
internal readonly ref struct ScalarSlots(ref ulong own, Span<ulong> stored)
{
    private readonly ref ulong _own = ref own;
    private readonly Span<ulong> _stored = stored;

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
