using System.Runtime.CompilerServices;

namespace ProtoRpc.Messages;

// The values in a MessageStore, as many as its fields need. Not generic over the type of the values: the
// class of a store would then be looked up each time that one is made.

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
