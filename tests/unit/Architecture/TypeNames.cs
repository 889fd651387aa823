using System.Collections.Immutable;
using System.Reflection.Metadata;

namespace ProtoRpc.Tests.Architecture;

/// <summary>Collects the types that signatures, tokens and attributes of an assembly name.</summary>
internal sealed class TypeNames(MetadataReader reader, string assembly)
    : ISignatureTypeProvider<string, object?>, ICustomAttributeTypeProvider<string>
{
    /// <summary>Where names go; exchanged for each type that is read.</summary>
    public HashSet<TypeName> Found { get; set; } = [];

    /// <summary>The outermost type around a type of this assembly.</summary>
    public TypeDefinitionHandle OutermostOf(TypeDefinitionHandle handle)
    {
        while (reader.GetTypeDefinition(handle).GetDeclaringType() is { IsNil: false } outer)
        {
            handle = outer;
        }

        return handle;
    }

    public TypeName NameOf(TypeDefinitionHandle handle)
    {
        TypeDefinition type = reader.GetTypeDefinition(OutermostOf(handle));
        return new(assembly, Join(reader.GetString(type.Namespace), reader.GetString(type.Name)));
    }

    /// <summary>Adds what a token of the code or a signature stands for.</summary>
    public void Add(EntityHandle handle)
    {
        if (handle.IsNil)
        {
            return;
        }

        switch (handle.Kind)
        {
            case HandleKind.TypeDefinition:
                Found.Add(NameOf((TypeDefinitionHandle)handle));
                break;
            case HandleKind.TypeReference:
                Add((TypeReferenceHandle)handle);
                break;
            case HandleKind.TypeSpecification:
                reader.GetTypeSpecification((TypeSpecificationHandle)handle).DecodeSignature(this, null);
                break;
            case HandleKind.FieldDefinition:
                FieldDefinition field = reader.GetFieldDefinition((FieldDefinitionHandle)handle);
                Add(field.GetDeclaringType());
                field.DecodeSignature(this, null);
                break;
            case HandleKind.MethodDefinition:
                MethodDefinition method = reader.GetMethodDefinition((MethodDefinitionHandle)handle);
                Add(method.GetDeclaringType());
                method.DecodeSignature(this, null);
                break;
            case HandleKind.MemberReference:
                Add((MemberReferenceHandle)handle);
                break;
            case HandleKind.MethodSpecification:
                MethodSpecification made = reader.GetMethodSpecification((MethodSpecificationHandle)handle);
                Add(made.Method);
                made.DecodeSignature(this, null);
                break;
            case HandleKind.StandaloneSignature:
                StandaloneSignature signature =
                    reader.GetStandaloneSignature((StandaloneSignatureHandle)handle);
                _ = signature.GetKind() == StandaloneSignatureKind.LocalVariables
                    ? signature.DecodeLocalSignature(this, null)
                    : [signature.DecodeMethodSignature(this, null).ReturnType];
                break;
            default:
                break;
        }
    }

    /// <summary>Adds the attributes of a type or a member, and the types that they name.</summary>
    public void Add(CustomAttributeHandleCollection attributes)
    {
        foreach (CustomAttributeHandle handle in attributes)
        {
            CustomAttribute attribute = reader.GetCustomAttribute(handle);
            Add(attribute.Constructor);
            attribute.DecodeValue(this);
        }
    }

    private void Add(MemberReferenceHandle handle)
    {
        MemberReference member = reader.GetMemberReference(handle);
        Add(member.Parent);
        _ = member.GetKind() == MemberReferenceKind.Field
            ? member.DecodeFieldSignature(this, null)
            : member.DecodeMethodSignature(this, null).ReturnType;
    }

    private void Add(TypeReferenceHandle handle)
    {
        TypeReference type = reader.GetTypeReference(handle);
        while (type.ResolutionScope.Kind == HandleKind.TypeReference)
        {
            type = reader.GetTypeReference((TypeReferenceHandle)type.ResolutionScope);
        }

        if (type.ResolutionScope.Kind == HandleKind.AssemblyReference)
        {
            Found.Add(new(
                reader.GetString(AssemblyOf(type).Name),
                Join(reader.GetString(type.Namespace), reader.GetString(type.Name))));
        }
    }

    private AssemblyReference AssemblyOf(TypeReference type) =>
        reader.GetAssemblyReference((AssemblyReferenceHandle)type.ResolutionScope);

    private static string Join(string space, string name) => space.Length == 0 ? name : $"{space}.{name}";

    string ISimpleTypeProvider<string>.GetPrimitiveType(PrimitiveTypeCode typeCode) => "";

    // The names are for the decoder of attributes, which must know a System.Type and the size of an enum.
    string ISimpleTypeProvider<string>.GetTypeFromDefinition(
        MetadataReader from, TypeDefinitionHandle handle, byte rawTypeKind)
    {
        Add(handle);
        return $"{NameOf(handle).FullName}, {assembly}";
    }

    string ISimpleTypeProvider<string>.GetTypeFromReference(
        MetadataReader from, TypeReferenceHandle handle, byte rawTypeKind)
    {
        Add(handle);
        TypeReference type = reader.GetTypeReference(handle);
        string name = Join(reader.GetString(type.Namespace), reader.GetString(type.Name));
        return type.ResolutionScope.Kind == HandleKind.AssemblyReference
            ? $"{name}, {reader.GetString(AssemblyOf(type).Name)}"
            : name;
    }

    string ISignatureTypeProvider<string, object?>.GetTypeFromSpecification(
        MetadataReader from, object? context, TypeSpecificationHandle handle, byte rawTypeKind) =>
        from.GetTypeSpecification(handle).DecodeSignature(this, context);

    string ISZArrayTypeProvider<string>.GetSZArrayType(string elementType) => "";

    string IConstructedTypeProvider<string>.GetArrayType(string elementType, ArrayShape shape) => "";

    string IConstructedTypeProvider<string>.GetByReferenceType(string elementType) => "";

    string IConstructedTypeProvider<string>.GetPointerType(string elementType) => "";

    string IConstructedTypeProvider<string>.GetGenericInstantiation(
        string genericType, ImmutableArray<string> typeArguments) => "";

    string ISignatureTypeProvider<string, object?>.GetFunctionPointerType(
        MethodSignature<string> signature) => "";

    string ISignatureTypeProvider<string, object?>.GetGenericMethodParameter(
        object? context, int index) => "";

    string ISignatureTypeProvider<string, object?>.GetGenericTypeParameter(object? context, int index) => "";

    string ISignatureTypeProvider<string, object?>.GetModifiedType(
        string modifier, string unmodifiedType, bool isRequired) => "";

    string ISignatureTypeProvider<string, object?>.GetPinnedType(string elementType) => "";

    string ICustomAttributeTypeProvider<string>.GetSystemType() => "System.Type";

    bool ICustomAttributeTypeProvider<string>.IsSystemType(string type) =>
        type.Split(',')[0] == "System.Type";

    // As an attribute writes typeof: "Space.Outer+Inner, Assembly, Version=..." or,
    // of this assembly, no comma.
    string ICustomAttributeTypeProvider<string>.GetTypeFromSerializedName(string name)
    {
        string[] parts = name.Split(',', 3, StringSplitOptions.TrimEntries);
        Found.Add(new(parts.Length > 1 ? parts[1] : assembly, parts[0].Split('+', '[')[0]));
        return name;
    }

    // An enum that cannot be loaded here is one of the shell's, and all of those are ints.
    PrimitiveTypeCode ICustomAttributeTypeProvider<string>.GetUnderlyingEnumType(string type) =>
        Type.GetType(type) is { IsEnum: true } known
            ? Enum.Parse<PrimitiveTypeCode>(known.GetEnumUnderlyingType().Name)
            : PrimitiveTypeCode.Int32;
}
