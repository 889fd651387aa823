using System.Runtime.InteropServices;

namespace ProtoRpc.Messages;

/// <summary>Hashes keys of maps in a way that peers cannot foresee.</summary>
/// <remarks>.NET hashes a text with a secret of the process, but a number as itself. A peer that knows the
/// numbers of one bucket would make each lookup compare all of them. So numbers are hashed as texts
/// are.</remarks>
internal static class MapKeys
{
    /// <summary>Compares keys that are boxed, as in the maps of messages and in dictionaries of
    /// scripts.</summary>
    public static EqualityComparer<object> Boxed { get; } = new Comparer<object>();

    /// <summary>Makes the map of a message.</summary>
    /// <param name="capacity">How many entries it is made for.</param>
    public static OrderedDictionary<object, object> NewMap(int capacity = 0) => new(capacity, Boxed);

    /// <summary>Compares keys of one type; null if .NET's own comparer has a secret.</summary>
    public static IEqualityComparer<TKey>? Of<TKey>()
        where TKey : notnull => typeof(TKey) == typeof(string) ? null : Typed<TKey>.Instance;

    /// <summary>The hash of a key, or of any value of a field.</summary>
    public static int HashOf(object value) => value switch
    {
        long number => HashOf((ulong)number),
        int number => HashOf((ulong)number),
        ulong number => HashOf(number),
        uint number => HashOf((ulong)number),
        _ => value.GetHashCode(),
    };

    private static int HashOf(ulong number) =>
        string.GetHashCode(MemoryMarshal.Cast<ulong, char>(new ReadOnlySpan<ulong>(in number)));

    private static class Typed<TKey>
        where TKey : notnull
    {
        public static readonly Comparer<TKey> Instance = new();
    }

    private sealed class Comparer<TKey> : EqualityComparer<TKey>
        where TKey : notnull
    {
        public override bool Equals(TKey? x, TKey? y) => Default.Equals(x, y);

        public override int GetHashCode(TKey key) =>
            typeof(TKey) == typeof(long) ? HashOf((ulong)(long)(object)key)
            : typeof(TKey) == typeof(int) ? HashOf((ulong)(int)(object)key)
            : typeof(TKey) == typeof(ulong) ? HashOf((ulong)(object)key)
            : typeof(TKey) == typeof(uint) ? HashOf((ulong)(uint)(object)key)
            : MapKeys.HashOf(key);
    }
}
