using Google.Protobuf.Reflection;
using static Google.Protobuf.Reflection.FeatureSet.Types;

namespace ProtoRpc.Schema;

/// <summary>The features of an element that descriptors do not tell, for every syntax and edition.</summary>
/// <remarks>
/// Google.Protobuf 3.36.2 resolves features and does not publish them. Its descriptors show presence, packing
/// and groups, but not these two: its own messages have open enums and check all strings.
/// </remarks>
internal sealed record FieldFeatures(EnumType EnumType, Utf8Validation Utf8)
{
    private static readonly FieldFeatures Proto2 = new(EnumType.Closed, Utf8Validation.None);

    // Proto3, and the editions so far.
    private static readonly FieldFeatures Newer = new(EnumType.Open, Utf8Validation.Verify);

    /// <summary>The features of a file.</summary>
    public static FieldFeatures OfFile(FileDescriptorProto file) =>
        (file.Syntax is "" or "proto2" ? Proto2 : Newer).With(file.Options?.Features);

    /// <summary>The name of an edition as it is written in a .proto; null for one that is not supported.
    /// </summary>
    public static string? EditionName(Edition edition) => edition switch
    {
        Edition._2023 => "2023",
        Edition._2024 => "2024",
        Edition._2026 => "2026",
        _ => null,
    };

    /// <summary>These features with those that an element sets itself.</summary>
    public FieldFeatures With(FeatureSet? own) => own is null ? this : new FieldFeatures(
        own.HasEnumType ? own.EnumType : EnumType,
        own.HasUtf8Validation ? own.Utf8Validation : Utf8);
}
