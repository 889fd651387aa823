using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc;

// Stores the values.
public sealed partial class DynamicMessage
{
    /// <summary>The number of scalars in the message object itself, so that a Timestamp needs no separate
    /// store.</summary>
    internal const int OwnScalars = 2;

    internal readonly MessageLayout Layout;

    // The store; or null, where the type needs none; or the unknown fields, which then hold the store.
    private object? _more;
    private Scalars2 _scalars;

    internal DynamicMessage(MessageLayout layout)
    {
        Layout = layout;
        _more = layout.Shape?.New(layout);
    }

    /// <summary>The scalars, in the order of the layout.</summary>
    internal ScalarSlots Scalars
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => new(
            ref Unsafe.As<Scalars2, ulong>(ref _scalars),
            Layout.ScalarCount <= OwnScalars ? default : StoredScalars);
    }

    /// <summary>The values that are references, in the order of the layout.</summary>
    internal Span<object?> References
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            MessageLayout layout = Layout;
            if (layout.ReferenceCount == 0)
            {
                return default;
            }
            return layout.IsWide
                ? Unsafe.As<MessageStore.Wide>(Store).References
                : MemoryMarshal.CreateSpan(
                    ref Store.At<object?>(layout.ReferenceOffset), layout.ReferenceCount);
        }
    }

    private Span<ulong> StoredScalars
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Layout.IsWide
            ? Unsafe.As<MessageStore.Wide>(Store).Scalars
            : MemoryMarshal.CreateSpan(
                ref Store.At<ulong>(Layout.ScalarOffset), Layout.ScalarCount - OwnScalars);
    }

    private MessageStore Store
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Unsafe.As<MessageStore>(_more is UnknownFields unknown ? unknown.Store : _more)!;
    }

    /// <summary>Adds an unknown field.</summary>
    internal void AppendUnknown(ReadOnlySpan<byte> field)
    {
        if (field.IsEmpty)
        {
            return;
        }
        if (_more is not UnknownFields unknown)
        {
            _more = unknown = new UnknownFields(_more);
        }
        unknown.Append(field);
    }
}
