using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Checks what protoc never writes and Google.Protobuf lets pass,
/// so that codecs can rely on it.</summary>
internal static class DescriptorCheck
{
    private const int MaxFieldNumber = 536870911;

    // An item of a MessageSet has its number as a value, not in a tag.
    private const int MaxMessageSetNumber = int.MaxValue - 1;

    /// <summary>Checks that a file has a syntax or edition that is supported.</summary>
    /// <exception cref="RpcException">InvalidArgument for any other.</exception>
    public static void CheckSyntax(FileDescriptorProto file)
    {
        if (file.Syntax == "editions")
        {
            if (FieldFeatures.EditionName(file.Edition) is null)
            {
                throw SchemaError.Invalid(
                    $"'{file.Name}' uses edition {(int)file.Edition}, which is not supported; 2023, 2024 and "
                    + "2026 are.");
            }
        }
        else if (file.Syntax is not ("" or "proto2" or "proto3"))
        {
            throw SchemaError.Invalid(
                $"'{file.Name}' has the syntax '{file.Syntax}'; proto2, proto3 and editions are supported.");
        }
    }

    /// <summary>Checks a file before it is linked,
    /// for what the library refuses without saying where.</summary>
    /// <exception cref="RpcException">InvalidArgument with the elements at fault.</exception>
    public static void CheckExtensions(FileDescriptorProto file)
    {
        Dictionary<(string Extendee, int Number), string> seen = [];
        foreach (FieldDescriptorProto extension in file.Extension.Concat(
            file.MessageType.SelectMany(ExtensionsIn)))
        {
            (string Extendee, int Number) key = (extension.Extendee, extension.Number);
            Require(
                seen.TryAdd(key, extension.Name), file.Name, extension.Name,
                $"has the number {extension.Number} of '{extension.Extendee.TrimStart('.')}', which "
                + $"'{seen[key]}' has already");
        }
    }

    /// <summary>Checks a linked file.</summary>
    /// <exception cref="RpcException">InvalidArgument with the element at fault.</exception>
    public static void Check(FileDescriptor file, FileDescriptorProto proto)
    {
        for (int i = 0; i < proto.MessageType.Count; i++)
        {
            CheckMessage(file.MessageTypes[i], proto.MessageType[i], file.Name);
        }

        for (int i = 0; i < proto.EnumType.Count; i++)
        {
            CheckEnum(file.EnumTypes[i], file.Name);
        }

        for (int i = 0; i < proto.Extension.Count; i++)
        {
            CheckField(file.Extensions.UnorderedExtensions[i], proto.Extension[i], file.Name);
        }
    }

    private static IEnumerable<FieldDescriptorProto> ExtensionsIn(DescriptorProto message) =>
        message.Extension.Concat(message.NestedType.SelectMany(ExtensionsIn));

    private static void CheckMessage(MessageDescriptor message, DescriptorProto proto, string fileName)
    {
        IList<FieldDescriptor> fields = message.Fields.InDeclarationOrder();
        HashSet<int> numbers = [];
        HashSet<string> names = new(StringComparer.Ordinal);
        for (int i = 0; i < proto.Field.Count; i++)
        {
            FieldDescriptorProto field = proto.Field[i];
            Require(numbers.Add(field.Number), fileName, message.FullName,
                $"uses the number {field.Number} twice");
            Require(names.Add(field.Name), fileName, message.FullName, $"has two fields '{field.Name}'");
            Require(
                !field.HasOneofIndex || (field.OneofIndex >= 0 && field.OneofIndex < proto.OneofDecl.Count),
                fileName, fields[i].FullName, "is in a oneof that does not exist");
            Require(
                !field.HasOneofIndex || field.Label != FieldDescriptorProto.Types.Label.Repeated,
                fileName, fields[i].FullName, "is repeated in a oneof");
            CheckField(fields[i], field, fileName);
        }

        if (proto.Options?.MapEntry == true)
        {
            Require(IsMapEntry(proto), fileName, message.FullName, "is marked as a map's entry, but is none");
        }

        for (int i = 0; i < proto.NestedType.Count; i++)
        {
            CheckMessage(message.NestedTypes[i], proto.NestedType[i], fileName);
        }

        for (int i = 0; i < proto.EnumType.Count; i++)
        {
            CheckEnum(message.EnumTypes[i], fileName);
        }

        for (int i = 0; i < proto.Extension.Count; i++)
        {
            CheckField(message.Extensions.UnorderedExtensions[i], proto.Extension[i], fileName);
        }
    }

    private static void CheckField(FieldDescriptor field, FieldDescriptorProto proto, string fileName)
    {
        Require(
            field.FieldType != FieldType.Group || field.MessageType is not null, fileName, field.FullName,
            "is a group without a type");
        bool isInMessageSet = field.IsExtension && RpcFieldInfo.IsMessageSet(field.ExtendeeType);
        int maxNumber = isInMessageSet ? MaxMessageSetNumber : MaxFieldNumber;
        Require(
            proto.Number >= 1 && proto.Number <= maxNumber, fileName, field.FullName,
            $"has the number {proto.Number}, which is not in 1..{maxNumber}");
        Require(
            !isInMessageSet || proto is
            {
                Type: FieldDescriptorProto.Types.Type.Message,
                Label: FieldDescriptorProto.Types.Label.Optional,
            },
            fileName, field.FullName, "extends a MessageSet but is not an optional message");
        Require(
            !field.IsMap || proto.Label == FieldDescriptorProto.Types.Label.Repeated, fileName,
            field.FullName,
            "has a map's entry as its type but is not repeated");
        if (proto.HasDefaultValue && field.FieldType is not (FieldType.Message or FieldType.Group))
        {
            EnumDescriptor? enumType = field.FieldType == FieldType.Enum ? field.EnumType : null;
            Require(
                FieldDefault.IsValid(RpcFieldInfo.KindOf(field), proto, enumType), fileName,
                field.FullName,
                $"has the default '{proto.DefaultValue}', which is not a value of its type");
        }
    }

    private static void CheckEnum(EnumDescriptor type, string fileName) =>
        Require(type.Values.Count > 0, fileName, type.FullName, "is an enum without values");

    private static bool IsMapEntry(DescriptorProto entry) =>
        entry.Field.Count == 2
        && entry.Field[0] is { Number: 1, Label: FieldDescriptorProto.Types.Label.Optional } key
        && entry.Field[1] is { Number: 2, Label: FieldDescriptorProto.Types.Label.Optional }
        && key.Type is not (FieldDescriptorProto.Types.Type.Float or FieldDescriptorProto.Types.Type.Double
            or FieldDescriptorProto.Types.Type.Bytes or FieldDescriptorProto.Types.Type.Enum
            or FieldDescriptorProto.Types.Type.Message or FieldDescriptorProto.Types.Type.Group);

    private static void Require(bool holds, string fileName, string element, string what)
    {
        if (!holds)
        {
            throw SchemaError.Invalid($"{fileName}: '{element}' {what}.");
        }
    }
}
