using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Links files to descriptors.</summary>
internal static class DescriptorLinker
{
    /// <summary>Links files in any order.</summary>
    /// <param name="files">The files.</param>
    /// <param name="began">Receives the file that is checked or linked next, for finding the one at
    /// fault.</param>
    /// <returns>The linked files; imports come before the files that import them.</returns>
    /// <exception cref="RpcException">InvalidArgument when an import is missing or something does not fit.
    /// </exception>
    public static IReadOnlyList<SchemaFile> Link(
        IReadOnlyList<DescriptorFile> files, Action<DescriptorFile?>? began = null)
    {
        IReadOnlyList<DescriptorFile> sorted = RpcMessageLinks.Unify(
            ImportOrder.Sort(WellKnownFiles.AddMissing(RpcMessageLinks.AddMissing(files))));
        foreach (DescriptorFile file in sorted)
        {
            began?.Invoke(file);
            NameCheck.Check(file.Proto);
            DescriptorCheck.CheckSyntax(file.Proto);
            DescriptorCheck.CheckExtensions(file.Proto);
        }

        began?.Invoke(null);
        LinkCost.Check(sorted);
        FeatureCost.Check(sorted);
        DescriptorFile? current = null;
        IReadOnlyList<FileDescriptor> descriptors;
        try
        {
            descriptors = FileDescriptor.BuildFromByteStrings(sorted.Select(file =>
            {
                current = file;
                began?.Invoke(file);
                return file.Bytes;
            }));
        }
        // Google.Protobuf throws exceptions of many types for invalid descriptors.
        catch (Exception e) when (e is not (OutOfMemoryException or RpcException))
        {
            throw SchemaError.Invalid(
                $"'{current?.Name}' in {current?.Origin} cannot be linked: {e.Message}", e);
        }

        List<SchemaFile> linked = [];
        for (int i = 0; i < sorted.Count; i++)
        {
            began?.Invoke(sorted[i]);
            DescriptorCheck.Check(descriptors[i], sorted[i].Proto);
            linked.Add(new SchemaFile(descriptors[i], sorted[i].Proto));
        }

        return linked;
    }

    /// <summary>Takes descriptors that are linked already, with all that they import.</summary>
    public static IReadOnlyList<SchemaFile> Wrap(IReadOnlyList<FileDescriptor> roots)
    {
        List<SchemaFile> files = [];
        Dictionary<string, ByteString> seen = new(StringComparer.Ordinal);
        foreach (FileDescriptor root in roots)
        {
            Add(root);
        }

        return files;

        void Add(FileDescriptor file)
        {
            if (seen.TryGetValue(file.Name, out ByteString? bytes))
            {
                if (!bytes.Equals(file.SerializedData))
                {
                    throw SchemaError.Invalid($"Two different files have the name '{file.Name}'.");
                }

                return;
            }

            seen.Add(file.Name, file.SerializedData);
            foreach (FileDescriptor import in file.Dependencies)
            {
                Add(import);
            }

            FileDescriptorProto proto = FileDescriptorProto.Parser.ParseFrom(file.SerializedData);
            NameCheck.Check(proto);
            DescriptorCheck.CheckSyntax(proto);
            files.Add(new SchemaFile(file, proto));
        }
    }

    /// <summary>The names of the files that no other one imports.</summary>
    public static IReadOnlyList<string> FindRoots(IReadOnlyList<DescriptorFile> files)
    {
        HashSet<string> imported = [.. files.SelectMany(
            f => f.Proto.Dependency.Concat(f.Proto.OptionDependency))];
        return [
            .. files.Select(f => f.Name).Where(n => !imported.Contains(n)).Distinct(StringComparer.Ordinal)];
    }
}

/// <summary>Checks properties that protoc guarantees and Google.Protobuf does not check, so that codecs can
/// rely on them.</summary>
internal static class DescriptorCheck
{
    private const int MaxFieldNumber = 536870911;

    // Items of a MessageSet contain the number as a value and not in a tag, so it can be larger.
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

    /// <summary>Checks a file before it is linked, for errors that Google.Protobuf reports without a
    /// position.</summary>
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
            Require(
                IsMapEntry(proto), fileName, message.FullName,
                "is marked as a map's entry, but is not a valid entry");
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

/// <summary>Checks the names that a file declares. A descriptor set or a server's reflection can put any text
/// there, and names end up in scripts, in .proto text and on terminals.</summary>
internal static class NameCheck
{
    // protoc rejects longer and deeper packages. Google.Protobuf 3.36.2 needs quadratic time for the dots.
    private const int MaxPackageLength = 511;
    private const int MaxPackageDots = 100;

    // Every element stores its full name, so nested messages with long names would need memory of quadratic
    // size.
    private const int MaxFullNameLength = 4096;

    // Errors show at most this many characters of a wrong name.
    private const int ShownLength = 60;

    /// <summary>Checks a file before it is linked.</summary>
    /// <exception cref="RpcException">InvalidArgument with the name at fault.</exception>
    public static void Check(FileDescriptorProto file)
    {
        CheckPackage(file);
        int length = file.Package.Length;
        foreach (DescriptorProto message in file.MessageType)
        {
            CheckMessage(file, message, length);
        }

        foreach (EnumDescriptorProto type in file.EnumType)
        {
            CheckEnum(file, type, length);
        }

        foreach (FieldDescriptorProto extension in file.Extension)
        {
            CheckName(file, "extension", extension.Name, length);
        }

        foreach (ServiceDescriptorProto service in file.Service)
        {
            int inside = CheckName(file, "service", service.Name, length);
            foreach (MethodDescriptorProto method in service.Method)
            {
                CheckName(file, "method", method.Name, inside);
            }
        }
    }

    /// <summary>Whether a text can be the full name of a type or service.</summary>
    public static bool IsFullName(string name)
    {
        if (name.Length > MaxPackageLength || name.AsSpan().Count('.') > MaxPackageDots)
        {
            return false;
        }

        foreach (Range part in name.AsSpan().Split('.'))
        {
            if (!IsIdentifier(name.AsSpan(part)))
            {
                return false;
            }
        }

        return true;
    }

    private static void CheckPackage(FileDescriptorProto file)
    {
        string package = file.Package;
        Require(
            package.Length <= MaxPackageLength && package.AsSpan().Count('.') <= MaxPackageDots,
            file, "package",
            package, $"has more than {MaxPackageLength} characters or {MaxPackageDots} dots, which protoc "
                + "also rejects");
        if (package.Length > 0)
        {
            foreach (Range part in package.AsSpan().Split('.'))
            {
                Require(IsIdentifier(package.AsSpan(part)), file, "package", package,
                    NotIdentifier("each of its parts"));
            }
        }
    }

    // The recursion is limited by the parser of descriptors, which rejects more than 100 levels.
    private static void CheckMessage(FileDescriptorProto file, DescriptorProto message, int length)
    {
        int inside = CheckName(file, "message", message.Name, length);
        foreach (FieldDescriptorProto field in message.Field)
        {
            CheckName(file, "field", field.Name, inside);
        }

        foreach (FieldDescriptorProto extension in message.Extension)
        {
            CheckName(file, "extension", extension.Name, inside);
        }

        foreach (OneofDescriptorProto oneof in message.OneofDecl)
        {
            CheckName(file, "oneof", oneof.Name, inside);
        }

        CheckReserved(file, message.ReservedName);
        foreach (EnumDescriptorProto type in message.EnumType)
        {
            CheckEnum(file, type, inside);
        }

        foreach (DescriptorProto nested in message.NestedType)
        {
            CheckMessage(file, nested, inside);
        }
    }

    private static void CheckEnum(FileDescriptorProto file, EnumDescriptorProto type, int length)
    {
        int inside = CheckName(file, "enum", type.Name, length);
        foreach (EnumValueDescriptorProto value in type.Value)
        {
            CheckName(file, "enum value", value.Name, inside);
        }

        CheckReserved(file, type.ReservedName);
    }

    // Editions write reserved names as identifiers. Proto2 and proto3 quote them, so that every text is
    // valid.
    private static void CheckReserved(FileDescriptorProto file, IEnumerable<string> names)
    {
        if (file.Syntax != "editions")
        {
            return;
        }

        foreach (string name in names)
        {
            Require(IsIdentifier(name), file, "reserved name", name, NotIdentifier("it"));
        }
    }

    /// <returns>The length of the full name.</returns>
    private static int CheckName(FileDescriptorProto file, string kind, string name, int outer)
    {
        Require(IsIdentifier(name), file, kind, name, NotIdentifier("it"));
        int length = outer + 1 + name.Length;
        Require(
            length <= MaxFullNameLength, file, kind, name,
            $"has more than {MaxFullNameLength} characters with what it is declared in");
        return length;
    }

    private static bool IsIdentifier(ReadOnlySpan<char> name)
    {
        if (name.IsEmpty || char.IsAsciiDigit(name[0]))
        {
            return false;
        }

        foreach (char c in name)
        {
            if (!char.IsAsciiLetterOrDigit(c) && c != '_')
            {
                return false;
            }
        }

        return true;
    }

    private static string NotIdentifier(string what) =>
        $"is not a valid identifier: {what} must consist of ASCII letters, digits and '_', and must not "
        + "start with a digit";

    private static void Require(bool holds, FileDescriptorProto file, string kind, string name, string what)
    {
        if (!holds)
        {
            throw SchemaError.Invalid(
                $"{Shown(file.Name)}: the {kind} '{Shown(name)}' {what}. The schema is not loaded. "
                + "Do not use a schema from a source that you do not trust.");
        }
    }

    private static string Shown(string name) =>
        name.Length <= ShownLength ? name : $"{name[..ShownLength]}...";
}
