using System.Runtime.CompilerServices;

namespace ProtoRpc.Messages;

/// <summary>Holds the values of a message, but for its first scalars, in one object of just their
/// size.</summary>
/// <remarks>Most messages are small. Arrays for their values would make three objects of each message, and of
/// most of them twice as many bytes.</remarks>
internal abstract class MessageStore
{
    /// <summary>How far a part of this store lies behind its start.</summary>
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

    // Every object seen as one of this class: what it begins with, after its header.
    private sealed class Start
    {
        public byte First;
    }
}
