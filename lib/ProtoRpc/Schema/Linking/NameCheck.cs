using Google.Protobuf.Reflection;

namespace ProtoRpc.Schema.Linking;

/// <summary>Checks the names that a file declares. A descriptor set or a server's reflection can put any text
/// there, and names end up in scripts, in .proto text and on terminals.</summary>
internal static class NameCheck
{
    // protoc refuses longer and deeper packages. Google.Protobuf 3.36.2 takes quadratic time for the dots.
    private const int MaxPackageLength = 511;
    private const int MaxPackageDots = 100;

    // Every element keeps its full name, so nested messages with long names would multiply.
    private const int MaxFullNameLength = 4096;

    // As much of a wrong name as an error shows.
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

    private static void CheckPackage(FileDescriptorProto file)
    {
        string package = file.Package;
        Require(
            package.Length <= MaxPackageLength && package.AsSpan().Count('.') <= MaxPackageDots,
            file, "package",
            package, $"has more than {MaxPackageLength} characters or {MaxPackageDots} dots, which protoc "
                + "refuses, too");
        if (package.Length > 0)
        {
            foreach (Range part in package.AsSpan().Split('.'))
            {
                Require(IsIdentifier(package.AsSpan(part)), file, "package", package,
                    NotIdentifier("each of its parts"));
            }
        }
    }

    // As deep as the parser of descriptors lets messages nest, which is 100.
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

    // Editions write them without quotes; the others quote them, so that any text is good.
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
