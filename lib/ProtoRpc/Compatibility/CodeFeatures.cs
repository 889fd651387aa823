using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using static Google.Protobuf.Reflection.FeatureSet.Types;

namespace ProtoRpc.Compatibility;

/// <summary>Resolved features on which only JSON and generated code depend, so that messages are read and
/// written without them.</summary>
/// <param name="AllowsJson">Whether json_format is ALLOW.</param>
/// <param name="CppString">The type of strings in C++: string_type of pb.cpp.</param>
/// <param name="IsJavaStrict">Whether Java checks UTF-8 by itself: utf8_validation of pb.java.</param>
internal sealed record CodeFeatures(bool AllowsJson, CppStringType CppString, bool IsJavaStrict)
{
    // google/protobuf/cpp_features.proto: extend FeatureSet { optional CppFeatures cpp = 1000; }
    private const int CppNumber = 1000;
    private const int CppStringTypeNumber = 2;

    // google/protobuf/java_features.proto: extend FeatureSet { optional JavaFeatures java = 1001; }
    private const int JavaNumber = 1001;
    private const int JavaUtf8Number = 2;
    private const int JavaVerify = 2;

    public static CodeFeatures OfFile(FileDescriptorProto file) => new CodeFeatures(
        AllowsJson: file.Syntax is not ("" or "proto2"),
        CppString: file.Edition >= Edition._2024 ? CppStringType.View : CppStringType.Plain,
        IsJavaStrict: false).With(file.Options?.Features);

    /// <summary>These features, overridden by those that an element sets.</summary>
    public CodeFeatures With(FeatureSet? own)
    {
        if (own is null)
        {
            return this;
        }

        ByteString bytes = own.ToByteString();
        int cpp = ReadNumber(bytes, CppNumber, CppStringTypeNumber);
        int java = ReadNumber(bytes, JavaNumber, JavaUtf8Number);
        return new CodeFeatures(
            own.HasJsonFormat ? own.JsonFormat == JsonFormat.Allow : AllowsJson,
            cpp == 0 ? CppString : (CppStringType)cpp,
            java == 0 ? IsJavaStrict : java == JavaVerify);
    }

    // Read from the bytes, because Google.Protobuf does not contain these extensions.
    private static int ReadNumber(ByteString features, int extension, int number)
    {
        int found = 0;
        try
        {
            foreach (ByteString part in WireScan.Bytes(features, extension))
            {
                using CodedInputStream input = part.CreateCodedInput();
                for (uint tag = input.ReadTag(); tag != 0; tag = input.ReadTag())
                {
                    if (tag == WireFormat.MakeTag(number, WireFormat.WireType.Varint))
                    {
                        found = input.ReadEnum();
                    }
                    else
                    {
                        input.SkipLastField();
                    }
                }
            }
        }
        catch (InvalidProtocolBufferException)
        {
            // A peer's descriptor may contain invalid bytes. They set no feature.
        }

        return found;
    }
}

/// <summary>The types of strings in C++, numbered as in google/protobuf/cpp_features.proto.</summary>
internal enum CppStringType
{
    View = 1,
    Cord = 2,
    Plain = 3,
}

/// <summary>Finds the features of the elements of a comparison, each message once.</summary>
internal sealed class FeatureResolver
{
    private readonly Dictionary<RpcMessageInfo, CodeFeatures> _messages = [];
    private readonly Dictionary<SchemaFile, CodeFeatures> _files = [];

    // The recursion is limited by the nesting of types, which is at most 100.
    public CodeFeatures Get(RpcMessageInfo message)
    {
        if (!_messages.TryGetValue(message, out CodeFeatures? features))
        {
            features = Get(message.ContainingType, message.File).With(message.Proto.Options?.Features);
            _messages.Add(message, features);
        }

        return features;
    }

    public CodeFeatures Get(RpcEnumInfo type) => Get(
        type.Descriptor.ContainingType is { } scope ? type.Schema.MessageOf(scope) : null, type.File)
        .With(type.Proto.Options?.Features);

    public CodeFeatures Get(RpcFieldInfo field) => Get(
        field.Descriptor.ContainingType is { } scope ? field.ContainingType.Schema.MessageOf(scope) : null,
        field.File)
        .With(field.Proto.Options?.Features);

    private CodeFeatures Get(RpcMessageInfo? scope, SchemaFile file)
    {
        if (scope is not null)
        {
            return Get(scope);
        }

        if (!_files.TryGetValue(file, out CodeFeatures? features))
        {
            _files.Add(file, features = CodeFeatures.OfFile(file.Proto));
        }

        return features;
    }
}
