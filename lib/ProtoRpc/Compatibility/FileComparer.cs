using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using static ProtoRpc.Compatibility.ChangeList;
using FileOptions = Google.Protobuf.Reflection.FileOptions;

namespace ProtoRpc.Compatibility;

/// <summary>Compares the files: names, packages, syntax, and the options of generated code.</summary>
internal static class FileComparer
{
    private static readonly FileOptions NoOptions = new();

    // The options that buf compares. Their defaults are in descriptor.proto.
    private static readonly FileOptionRule[] Options =
    [
        new(FileOptions.CcEnableArenasFieldNumber, "cc_enable_arenas", o => Text(o.CcEnableArenas)),
        new(FileOptions.CcGenericServicesFieldNumber, "cc_generic_services", o => Text(o.CcGenericServices)),
        new(FileOptions.CsharpNamespaceFieldNumber, "csharp_namespace", o => o.CsharpNamespace),
        new(FileOptions.GoPackageFieldNumber, "go_package", o => o.GoPackage),
        new(
            FileOptions.JavaGenericServicesFieldNumber, "java_generic_services",
            o => Text(o.JavaGenericServices)),
        new(FileOptions.JavaMultipleFilesFieldNumber, "java_multiple_files", o => Text(o.JavaMultipleFiles)),
        new(FileOptions.JavaOuterClassnameFieldNumber, "java_outer_classname", o => o.JavaOuterClassname),
        new(FileOptions.JavaPackageFieldNumber, "java_package", o => o.JavaPackage),
        new(FileOptions.ObjcClassPrefixFieldNumber, "objc_class_prefix", o => o.ObjcClassPrefix),
        new(
            FileOptions.OptimizeForFieldNumber, "optimize_for", o => o.OptimizeFor switch
            {
                FileOptions.Types.OptimizeMode.CodeSize => "CODE_SIZE",
                FileOptions.Types.OptimizeMode.LiteRuntime => "LITE_RUNTIME",
                _ => "SPEED",
            }),
        new(FileOptions.PhpClassPrefixFieldNumber, "php_class_prefix", o => o.PhpClassPrefix),
        new(
            FileOptions.PhpMetadataNamespaceFieldNumber, "php_metadata_namespace",
            o => o.PhpMetadataNamespace),
        new(FileOptions.PhpNamespaceFieldNumber, "php_namespace", o => o.PhpNamespace),
        new(FileOptions.PyGenericServicesFieldNumber, "py_generic_services", o => Text(o.PyGenericServices)),
        new(FileOptions.RubyPackageFieldNumber, "ruby_package", o => o.RubyPackage),
        new(FileOptions.SwiftPrefixFieldNumber, "swift_prefix", o => o.SwiftPrefix),
    ];

    public static void Compare(SchemaPair schemas, ChangeList changes)
    {
        HashSet<string> missed = new(StringComparer.Ordinal);
        foreach (SchemaFile file in schemas.Older.SchemaFiles.Where(schemas.CanMiss))
        {
            string package = file.Proto.Package;
            if (!schemas.HasPackage(package) && missed.Add(package))
            {
                changes.Add(
                    RpcBreakingRule.PackageDeleted, RpcBreakingCategory.Source,
                    SchemaElement.Deleted(package, file, $"{FileDescriptorProto.PackageFieldNumber}"),
                    package.Length == 0
                        ? "No file is without a package any more. Keep such a file until no code uses its "
                            + "types."
                        : $"The package {Shown(package)} was deleted. Keep it until no code uses its types.",
                    "PACKAGE_NO_DELETE");
            }

            if (schemas.FindFile(file.Name) is { } newer)
            {
                Compare(file, newer, changes);
            }
            else
            {
                changes.Add(
                    RpcBreakingRule.FileDeleted, RpcBreakingCategory.File,
                    SchemaElement.Deleted(file.Name, file, ""),
                    "The file was deleted. Keep it, and let it import the file with its types publicly "
                    + "(import public).",
                    "FILE_NO_DELETE");
            }
        }
    }

    private static void Compare(SchemaFile older, SchemaFile newer, ChangeList changes)
    {
        string package = newer.Proto.Package;
        if (older.Proto.Package != package)
        {
            changes.Add(
                RpcBreakingRule.FilePackageChanged,
                RpcBreakingCategory.Wire | RpcBreakingCategory.Json | RpcBreakingCategory.Source,
                new SchemaElement(newer.Name, newer, $"{FileDescriptorProto.PackageFieldNumber}"),
                $"The package changed from '{Shown(older.Proto.Package)}' to '{Shown(package)}', and with it "
                + "the full names of all services and types of the file. Put the new package into another "
                + "file, and keep this one.",
                "FILE_SAME_PACKAGE");
        }

        if (SyntaxOf(older.Proto) != SyntaxOf(newer.Proto))
        {
            changes.Add(
                RpcBreakingRule.FileSyntaxChanged, RpcBreakingCategory.File,
                new SchemaElement(newer.Name, newer, $"{FileDescriptorProto.SyntaxFieldNumber}"),
                $"The syntax changed from {SyntaxOf(older.Proto)} to {SyntaxOf(newer.Proto)}. Changes of its "
                + "features are reported for fields and enums. Check that the generators of all languages "
                + "support it.",
                "FILE_SAME_SYNTAX");
        }

        foreach (FileOptionRule option in Options)
        {
            string before = option.Read(older.Proto.Options ?? NoOptions);
            string after = option.Read(newer.Proto.Options ?? NoOptions);
            if (before != after)
            {
                changes.Add(
                    RpcBreakingRule.FileOptionChanged, RpcBreakingCategory.Source,
                    new SchemaElement(
                        newer.Name, newer, $"{FileDescriptorProto.OptionsFieldNumber},{option.Number}"),
                    $"The option {option.Name} changed from '{Shown(before)}' to '{Shown(after)}', and "
                    + "with it generated code. Set it back, or release the generated code as a new version.",
                    $"FILE_SAME_{option.Name.ToUpperInvariant()}");
            }
        }
    }

    // A descriptor may contain any text, but linking rejects an unknown syntax.
    private static string SyntaxOf(FileDescriptorProto file) =>
        file.Syntax.Length == 0 ? "proto2" : Shown(file.Syntax);

    private static string Text(bool value) => value ? "true" : "false";

    private sealed record FileOptionRule(int Number, string Name, Func<FileOptions, string> Read);
}
