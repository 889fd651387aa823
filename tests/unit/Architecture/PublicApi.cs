using System.Collections.Immutable;
using System.Globalization;
using System.Reflection;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;

namespace ProtoRpc.Tests.Architecture;

/// <summary>Writes down what other assemblies see of an assembly: a line for each type and each
/// member.</summary>
internal sealed class PublicApi : ISignatureTypeProvider<string, object?>
{
    private readonly MetadataReader _types;

    private PublicApi(MetadataReader types) => _types = types;

    /// <summary>The lines, in order.</summary>
    public static IReadOnlyList<string> Of(string path)
    {
        using PEReader file = new(File.OpenRead(path));
        PublicApi api = new(file.GetMetadataReader());
        return [.. api.Lines().Order(StringComparer.Ordinal)];
    }

    private IEnumerable<string> Lines()
    {
        foreach (TypeDefinitionHandle handle in _types.TypeDefinitions.Where(IsVisible))
        {
            TypeDefinition type = _types.GetTypeDefinition(handle);
            string name = NameOf(handle);
            IEnumerable<string> parents = type.GetInterfaceImplementations()
                .Select(implemented => _types.GetInterfaceImplementation(implemented).Interface)
                .Prepend(type.BaseType)
                .Where(parent => !parent.IsNil && !IsInternal(parent))
                .Select(NameOf);
            yield return $"{name} : {KindOf(type)} {string.Join(", ", parents)}".TrimEnd();

            foreach (FieldDefinition field in type.GetFields().Select(_types.GetFieldDefinition))
            {
                if (IsVisible(field.Attributes & FieldAttributes.FieldAccessMask)
                    && (field.Attributes & FieldAttributes.SpecialName) == 0)
                {
                    string constant = field.GetDefaultValue() is { IsNil: false } value
                        ? $" = {ValueOf(value)}"
                        : "";
                    yield return $"{name}.{_types.GetString(field.Name)}{constant} : "
                        + $"{StaticOf(field.Attributes.HasFlag(FieldAttributes.Static))}"
                        + field.DecodeSignature(this, null);
                }
            }

            foreach (MethodDefinition method in type.GetMethods().Select(_types.GetMethodDefinition))
            {
                string methodName = _types.GetString(method.Name);
                if (IsVisible((FieldAttributes)(method.Attributes & MethodAttributes.MemberAccessMask))
                    && !methodName.Contains('<'))
                {
                    yield return $"{name}.{SignatureOf(method, methodName)}";
                }
            }
        }
    }

    private string SignatureOf(MethodDefinition method, string name)
    {
        MethodSignature<string> signature = method.DecodeSignature(this, null);
        string[] names = new string[signature.ParameterTypes.Length];
        foreach (Parameter parameter in method.GetParameters().Select(_types.GetParameter))
        {
            if (parameter.SequenceNumber > 0)
            {
                string optional = parameter.Attributes.HasFlag(ParameterAttributes.Optional) ? "?" : "";
                names[parameter.SequenceNumber - 1] = $" {_types.GetString(parameter.Name)}{optional}";
            }
        }

        IEnumerable<string> parameters = signature.ParameterTypes.Zip(names, (type, own) => type + own);
        string generic = signature.GenericParameterCount > 0 ? $"``{signature.GenericParameterCount}" : "";
        string modifier = method.Attributes.HasFlag(MethodAttributes.Static) ? "static "
            : method.Attributes.HasFlag(MethodAttributes.Abstract) ? "abstract "
            : method.Attributes.HasFlag(MethodAttributes.Virtual)
                && !method.Attributes.HasFlag(MethodAttributes.Final) ? "virtual "
            : "";
        return $"{name}{generic}({string.Join(", ", parameters)}) : {modifier}{signature.ReturnType}";
    }

    private bool IsVisible(TypeDefinitionHandle handle)
    {
        TypeDefinition type = _types.GetTypeDefinition(handle);
        return (type.Attributes & TypeAttributes.VisibilityMask) switch
        {
            TypeAttributes.Public => true,
            TypeAttributes.NestedPublic or TypeAttributes.NestedFamily or TypeAttributes.NestedFamORAssem =>
                IsVisible(type.GetDeclaringType()),
            _ => false,
        };
    }

    private bool IsInternal(EntityHandle handle) =>
        handle.Kind == HandleKind.TypeDefinition && !IsVisible((TypeDefinitionHandle)handle);

    // The numbers of methods and fields are the same.
    private static bool IsVisible(FieldAttributes access) =>
        access is FieldAttributes.Public or FieldAttributes.Family or FieldAttributes.FamORAssem;

    private static string StaticOf(bool isStatic) => isStatic ? "static " : "";

    private static string KindOf(TypeDefinition type) => type.Attributes switch
    {
        var kind when kind.HasFlag(TypeAttributes.Interface) => "interface",
        var kind when kind.HasFlag(TypeAttributes.Abstract | TypeAttributes.Sealed) => "static",
        var kind when kind.HasFlag(TypeAttributes.Abstract) => "abstract",
        var kind when kind.HasFlag(TypeAttributes.Sealed) => "sealed",
        _ => "open",
    };

    private string ValueOf(ConstantHandle handle)
    {
        Constant constant = _types.GetConstant(handle);
        object? value = _types.GetBlobReader(constant.Value).ReadConstant(constant.TypeCode);
        return Convert.ToString(value, CultureInfo.InvariantCulture) ?? "null";
    }

    private string NameOf(EntityHandle handle) => handle.Kind switch
    {
        HandleKind.TypeDefinition => NameOf((TypeDefinitionHandle)handle),
        HandleKind.TypeReference => NameOf((TypeReferenceHandle)handle),
        _ => _types.GetTypeSpecification((TypeSpecificationHandle)handle).DecodeSignature(this, null),
    };

    private string NameOf(TypeDefinitionHandle handle)
    {
        TypeDefinition type = _types.GetTypeDefinition(handle);
        string name = _types.GetString(type.Name);
        return type.GetDeclaringType() is { IsNil: false } outer
            ? $"{NameOf(outer)}.{name}"
            : Join(_types.GetString(type.Namespace), name);
    }

    private string NameOf(TypeReferenceHandle handle)
    {
        TypeReference type = _types.GetTypeReference(handle);
        return type.ResolutionScope.Kind == HandleKind.TypeReference
            ? $"{NameOf((TypeReferenceHandle)type.ResolutionScope)}.{_types.GetString(type.Name)}"
            : Join(_types.GetString(type.Namespace), _types.GetString(type.Name));
    }

    private static string Join(string space, string name) => space.Length == 0 ? name : $"{space}.{name}";

    public string GetArrayType(string elementType, ArrayShape shape) => $"{elementType}[,]";

    public string GetByReferenceType(string elementType) => $"ref {elementType}";

    public string GetFunctionPointerType(MethodSignature<string> signature) => "delegate*";

    public string GetGenericInstantiation(string genericType, ImmutableArray<string> typeArguments) =>
        $"{genericType.Split('`')[0]}<{string.Join(", ", typeArguments)}>";

    public string GetGenericMethodParameter(object? genericContext, int index) => $"TM{index}";

    public string GetGenericTypeParameter(object? genericContext, int index) => $"T{index}";

    public string GetModifiedType(string modifier, string unmodifiedType, bool isRequired) =>
        modifier.EndsWith("IsExternalInit", StringComparison.Ordinal) ? "init" : unmodifiedType;

    public string GetPinnedType(string elementType) => elementType;

    public string GetPointerType(string elementType) => $"{elementType}*";

    public string GetPrimitiveType(PrimitiveTypeCode typeCode) => $"{typeCode}";

    public string GetSZArrayType(string elementType) => $"{elementType}[]";

    public string GetTypeFromDefinition(
        MetadataReader reader, TypeDefinitionHandle handle, byte rawTypeKind) => NameOf(handle);

    public string GetTypeFromReference(
        MetadataReader reader, TypeReferenceHandle handle, byte rawTypeKind) => NameOf(handle);

    public string GetTypeFromSpecification(
        MetadataReader reader, object? genericContext, TypeSpecificationHandle handle, byte rawTypeKind) =>
        reader.GetTypeSpecification(handle).DecodeSignature(this, genericContext);
}
