using ProtoRpc.Schema;
using ProtoRpc.Schema.Linking;
using static ProtoRpc.Compatibility.ChangeList;

namespace ProtoRpc.Compatibility;

/// <summary>Finds messages, enums, extensions and services that were deleted, or moved to another
/// file.</summary>
internal static class DeletionComparer
{
    private static readonly DeclarationKind Message = new(
        "message", "MESSAGE", RpcBreakingRule.MessageDeleted, RpcBreakingCategory.Source);

    private static readonly DeclarationKind Enum = new(
        "enum", "ENUM", RpcBreakingRule.EnumDeleted, RpcBreakingCategory.Source);

    private static readonly DeclarationKind Extension = new(
        "extension", "EXTENSION", RpcBreakingRule.ExtensionDeleted, RpcBreakingCategory.Source);

    // buf classifies a deleted service only as a change of source code, but its callers receive
    // Unimplemented.
    private static readonly DeclarationKind Service = new(
        "service", "SERVICE", RpcBreakingRule.ServiceDeleted,
        RpcBreakingCategory.Wire | RpcBreakingCategory.Json | RpcBreakingCategory.Source);

    public static void Compare(SchemaPair schemas, ChangeList changes)
    {
        DeclarationFinder messages = new(
            Message, schemas, changes, name => schemas.Newer.FindMessage(name)?.File);
        foreach (RpcMessageInfo message in schemas.Older.Messages)
        {
            messages.Compare(
                message.FullName, message.File, message.Path, message.Descriptor.ContainingType?.FullName);
        }

        DeclarationFinder enums = new(Enum, schemas, changes, name => schemas.FindEnum(name)?.File);
        foreach (RpcEnumInfo type in schemas.Older.Enums)
        {
            enums.Compare(
                type.FullName, type.File, type.Path, type.Descriptor.ContainingType?.FullName);
        }

        DeclarationFinder services = new(Service, schemas, changes, name => schemas.FindService(name)?.File);
        foreach (RpcServiceInfo service in schemas.Older.Services)
        {
            services.Compare(service.FullName, service.File, service.Path, parent: null);
        }

        CompareExtensions(schemas, changes);
    }

    private static void CompareExtensions(SchemaPair schemas, ChangeList changes)
    {
        Dictionary<string, RpcFieldInfo> newer = new(StringComparer.Ordinal);
        HashSet<(string, int)> numbers = [];
        foreach (RpcFieldInfo extension in schemas.Newer.Messages.SelectMany(message => message.Extensions))
        {
            newer.TryAdd(extension.FullName, extension);
            numbers.Add(PlaceOf(extension));
        }

        DeclarationFinder extensions = new(
            Extension, schemas, changes, name => newer.GetValueOrDefault(name)?.File);
        foreach (RpcFieldInfo extension in
            schemas.Older.Messages.SelectMany(message => message.Extensions))
        {
            // The parent of an extension is the type that contains its declaration, not the type that it
            // extends.
            extensions.Compare(
                extension.FullName, extension.File, extension.Path,
                extension.Descriptor.ContainingType?.FullName);

            // An extension whose number has a new name is compared as a field.
            if (newer.TryGetValue(extension.FullName, out RpcFieldInfo? now)
                && !numbers.Contains(PlaceOf(extension)))
            {
                (string type, int number) = PlaceOf(now);
                changes.Add(
                    RpcBreakingRule.FieldDeleted,
                    RpcBreakingCategory.Wire | RpcBreakingCategory.Json | RpcBreakingCategory.Source,
                    new SchemaElement(now.FullName, now.File, now.Path),
                    $"The extension {Shown(extension.FullName)} was {extension.Number} of "
                    + $"{Shown(PlaceOf(extension).Type)} and is {number} of {Shown(type)}. Set it back, and "
                    + "add an extension with another name.");
            }
        }
    }

    private static (string Type, int Number) PlaceOf(RpcFieldInfo extension) =>
        (extension.Descriptor.ExtendeeType.FullName, extension.Number);

    /// <summary>A kind of declaration: its name and rules.</summary>
    private sealed record DeclarationKind(
        string Name, string BufName, RpcBreakingRule Rule, RpcBreakingCategory Category);

    /// <summary>Finds declarations of one kind in the newer schema.</summary>
    private sealed class DeclarationFinder(
        DeclarationKind kind, SchemaPair schemas, ChangeList changes, Func<string, SchemaFile?> findFile)
    {
        public void Compare(string fullName, SchemaFile file, string path, string? parent)
        {
            // A declaration in a message is deleted or moved with the message, which is reported instead.
            if (!schemas.CanMiss(file)
                || (parent is not null && schemas.Newer.FindMessage(parent) is null))
            {
                return;
            }

            SchemaFile? now = findFile(fullName);
            SchemaFile? sameFile = schemas.FindFile(file.Name);
            bool isMissedInFile = sameFile is not null && !IsIn(sameFile, file.Proto.Package, fullName);
            if (now is null)
            {
                AddDeletion(
                    SchemaElement.Deleted(fullName, file, path), isMissedInFile,
                    schemas.HasPackage(file.Proto.Package));
            }
            else if (isMissedInFile && parent is null)
            {
                changes.Add(
                    RpcBreakingRule.MovedToOtherFile, RpcBreakingCategory.File,
                    SchemaElement.Deleted(fullName, file, path),
                    $"The {kind.Name} {Shown(fullName)} moved to the file '{Shown(now.Name)}'. Import that "
                    + "file publicly (import public), for code that is generated for each file.",
                    $"{kind.BufName}_NO_DELETE");
            }
        }

        private void AddDeletion(SchemaElement element, bool isMissedInFile, bool isMissedInPackage)
        {
            bool isService = kind.Rule == RpcBreakingRule.ServiceDeleted;
            if (!isMissedInFile && !isMissedInPackage && !isService)
            {
                // The deletion of the package or the file is reported instead.
                return;
            }

            List<string> bufRules = [];
            if (isMissedInFile)
            {
                bufRules.Add($"{kind.BufName}_NO_DELETE");
            }

            if (isMissedInPackage)
            {
                bufRules.Add($"PACKAGE_{kind.BufName}_NO_DELETE");
            }

            changes.Add(
                kind.Rule, kind.Category, element,
                $"The {kind.Name} {Shown(element.Name)} was deleted. Mark it as deprecated, and delete it "
                + $"when {(isService ? "no client calls" : "no code uses")} it.",
                bufRules);
        }

        // Whether the newer version of the file declares it, possibly in another package.
        private bool IsIn(SchemaFile sameFile, string package, string fullName)
        {
            string nested = package.Length == 0 ? fullName : fullName[(package.Length + 1)..];
            return findFile(DescriptorFile.FullName(sameFile.Proto.Package, nested)) == sameFile;
        }
    }
}
