using System.Globalization;
using System.Net;
using System.Numerics;
using ProtoRpc.Messages.Mapping;

namespace ProtoRpc.PowerShell.Objects;

/// <summary>Restores values that crossed a job, a remote session or CLIXML. The shell writes most types of
/// .NET as their properties and their text, and reads them as objects whose type names begin with
/// <c>Deserialized.</c></summary>
internal static class DeserializedValue
{
    /// <summary>The property of a serialized <see cref="DynamicMessage"/> with its full name.</summary>
    public const string RawType = "@type";

    /// <summary>The property of a serialized <see cref="DynamicMessage"/> with its bytes.</summary>
    public const string RawBytes = "@bytes";

    /// <summary>The start of the type names of objects that come from a job, a remote session or
    /// CLIXML.</summary>
    public const string Prefix = "Deserialized.";

    /// <summary>The type name of a serialized <see cref="DynamicMessage"/>.</summary>
    public const string Raw = $"{Prefix}{nameof(ProtoRpc)}.{nameof(DynamicMessage)}";
    private const string Blank = $"{Prefix}ProtoRpc.Messages.Mapping.{nameof(BlankMessage)}";
    private const string System = $"{Prefix}System.";
    private const string Enumeration = $"{System}Enum";

    /// <summary>The type name that an object had before it was serialized.</summary>
    public static string OriginalName(string typeName) =>
        typeName.StartsWith(Prefix, StringComparison.Ordinal) ? typeName[Prefix.Length..] : typeName;

    /// <summary>The value of a wrapped object. Custom objects are returned themselves.</summary>
    public static object Unwrap(PSObject wrapped)
    {
        object inner = wrapped.BaseObject;
        return inner switch
        {
            PSCustomObject => ObjectTypeNames.FirstOf(wrapped) is { } name && IsOfSystem(name)
                ? Restore(wrapped, name[System.Length..]) ?? wrapped
                : wrapped,
            int or byte or sbyte or short or ushort or uint or long or ulong =>
                ObjectTypeNames.FirstOf(wrapped) is { } type
                    && type.StartsWith(Prefix, StringComparison.Ordinal)
                    && ObjectTypeNames.Contains(wrapped, Enumeration)
                    ? new NamedNumber(wrapped.ToString(), inner)
                    : inner,
            IDictionary copy when ObjectTypeNames.FirstOf(wrapped) == Blank => new BlankMessage(copy),
            PSObject or ArrayList => ObjectTypeNames.FirstOf(wrapped) is { } list && IsOfSystem(list)
                ? RestoreList(inner, list[System.Length..])
                : inner,
            _ => inner,
        };
    }

    /// <summary>The full name and the bytes of a <see cref="DynamicMessage"/>; null for other
    /// objects.</summary>
    public static (string FullName, byte[] Bytes)? EncodedOf(PSObject value) =>
        ObjectTypeNames.FirstOf(value) == Raw
        && Property(value, RawType) is string fullName && Property(value, RawBytes) is byte[] bytes
            ? (fullName, bytes)
            : null;

    private static bool IsOfSystem(string name) => name.StartsWith(System, StringComparison.Ordinal);

    // Returns null for other types, and for properties and texts that are invalid for the type.
    private static object? Restore(PSObject value, string name)
    {
        try
        {
            return name switch
            {
                "DateTimeOffset" => Property(value, "UtcTicks") is long ticks
                    ? new DateTimeOffset(ticks, TimeSpan.Zero)
                        .ToOffset(Property(value, "Offset") is TimeSpan offset ? offset : TimeSpan.Zero)
                    : null,
                "DateOnly" => Property(value, "DayNumber") is int day ? DateOnly.FromDayNumber(day) : null,
                "TimeOnly" => Property(value, "Ticks") is long ticks ? new TimeOnly(ticks) : null,
                "Numerics.BigInteger" => Parse<BigInteger>(value),
                "Int128" => Parse<Int128>(value),
                "UInt128" => Parse<UInt128>(value),
                "IntPtr" => Parse<nint>(value),
                "UIntPtr" => Parse<nuint>(value),
                "Half" => Parse<Half>(value),
                "Net.IPAddress" => IPAddress.TryParse(value.ToString(), out IPAddress? address)
                    ? address
                    : null,
                "Text.StringBuilder" => value.ToString(),
                _ => null,
            };
        }
        catch (ArgumentException)
        {
            // The value is out of range: another program wrote the file.
            return null;
        }
    }

    // Every list is deserialized as an ArrayList, whatever the type of its elements was.
    private static object RestoreList(object list, string name)
    {
        object inner = list is PSObject wrapped ? wrapped.BaseObject : list;
        if (inner is not ArrayList items)
        {
            return list;
        }

        bool isBytes = name.StartsWith("Collections.Generic.List`1[[System.Byte,", StringComparison.Ordinal)
            || name.StartsWith("ArraySegment`1[[System.Byte,", StringComparison.Ordinal);
        return isBytes ? ToArray<byte>(items) ?? inner
            : name == "Char[]" ? ToArray<char>(items) ?? inner
            : inner;
    }

    private static object? ToArray<T>(ArrayList items)
    {
        T[] array = new T[items.Count];
        for (int i = 0; i < array.Length; i++)
        {
            if ((items[i] is PSObject wrapped ? wrapped.BaseObject : items[i]) is not T item)
            {
                return null;
            }

            array[i] = item;
        }

        return array;
    }

    private static object? Property(PSObject value, string name) => value.Properties[name]?.Value switch
    {
        PSObject wrapped => wrapped.BaseObject,
        var plain => plain,
    };

    private static object? Parse<T>(PSObject value)
        where T : struct, INumberBase<T> =>
        T.TryParse(value.ToString(), NumberStyles.Float, CultureInfo.InvariantCulture, out T number)
            ? number
            : null;
}
