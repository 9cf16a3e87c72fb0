//! The code that the derive writes.

use std::time::Duration;

use heck::ToSnakeCase as _;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Error, Fields, GenericParam, Path, Result, ext::IdentExt as _,
    parse_quote, spanned::Spanned as _,
};

use crate::{
    attributes::{Attributes, Problems, Setting},
    value,
};

/// `impl Job`, and the registration unless it is turned off.
pub(crate) fn job(input: &DeriveInput) -> Result<TokenStream> {
    let mut problems = check_shape(input);
    let attributes = match Attributes::read(&input.attrs) {
        Ok(attributes) => {
            problems.note(check_generics(input, &attributes));
            attributes
        }
        Err(error) => {
            problems.note(Err(error));
            Attributes::default()
        }
    };
    problems.into_result()?;

    let krate = attributes.krate();
    let name = job_name(input, &attributes)?;
    let queue = attributes
        .queue
        .as_ref()
        .map(|Setting { value, .. }| quote!(const QUEUE: &'static str = #value;));
    let options = options(&attributes, &krate);
    let ident = &input.ident;
    let generics = generics(input, &krate);
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    let registration = attributes.is_registered().then(|| {
        quote! {
            #krate::__private::inventory::submit! {
                #krate::__private::Registration::of::<#ident>()
            }
        }
    });
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Job for #ident #type_generics #where_clause {
            const NAME: &'static str = #name;
            #queue
            #options
        }
        #registration
    })
}

pub(crate) fn duration(duration: Duration) -> TokenStream {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    quote!(::core::time::Duration::new(#seconds, #nanos))
}

fn job_name(input: &DeriveInput, attributes: &Attributes) -> Result<String> {
    if let Some(Setting { value, .. }) = &attributes.name {
        return Ok(value.clone());
    }
    let name = input.ident.unraw().to_string().to_snake_case();
    value::job_name(&name).map_err(|problem| {
        let advice = "the type's name gives no job name; set one with `#[job(name = \"…\")]`";
        Error::new(input.ident.span(), format!("{problem}; {advice}"))
    })?;
    Ok(name)
}

fn options(attributes: &Attributes, krate: &Path) -> Option<TokenStream> {
    let Attributes {
        max_attempts,
        timeout,
        retry,
        unique_key,
        unique_for,
        ordering_key,
        ..
    } = attributes;
    let fields = [
        (
            "max_attempts",
            max_attempts
                .as_ref()
                .map(|Setting { value, .. }| quote!(#value)),
        ),
        (
            "timeout",
            timeout.as_ref().map(|setting| duration(setting.value)),
        ),
        ("retry", retry.policy(krate)),
        (
            "unique_key",
            unique_key.as_ref().map(|setting| setting.value.evaluated()),
        ),
        (
            "unique_for",
            unique_for.as_ref().map(|setting| duration(setting.value)),
        ),
        (
            "ordering_key",
            ordering_key
                .as_ref()
                .map(|setting| setting.value.evaluated()),
        ),
    ];
    // A key's expression must not see the variable.
    let options = Ident::new("options", Span::mixed_site());
    let set: Vec<_> = fields
        .into_iter()
        .filter_map(|(field, value)| Some((Ident::new(field, Span::call_site()), value?)))
        .map(|(field, value)| quote!(#options.#field = ::core::option::Option::Some(#value);))
        .collect();
    (!set.is_empty()).then(|| {
        quote! {
            fn options(&self) -> #krate::JobOptions {
                let mut #options = <#krate::JobOptions as ::core::default::Default>::default();
                #(#set)*
                #options
            }
        }
    })
}

/// What `Job` demands of a generic type is left to its instances.
fn generics(input: &DeriveInput, krate: &Path) -> syn::Generics {
    let mut generics = input.generics.clone();
    if !generics.params.is_empty() {
        generics.make_where_clause().predicates.push(parse_quote! {
            Self: #krate::__private::Serialize
                + #krate::__private::DeserializeOwned
                + ::core::marker::Send
                + 'static
        });
    }
    generics
}

fn check_generics(input: &DeriveInput, attributes: &Attributes) -> Result<()> {
    for param in &input.generics.params {
        if let GenericParam::Lifetime(lifetime) = param {
            let problem = "a job owns its data, since it is read back from the queue: it cannot \
                           have a lifetime";
            return Err(Error::new_spanned(lifetime, problem));
        }
    }
    match input.generics.params.first() {
        Some(param) if attributes.is_registered() => Err(Error::new_spanned(
            param,
            "a generic job has no single name to be registered under: add \
             `#[job(register = false)]` and give the instances to \
             `Worker::builder(..).register::<T>()`",
        )),
        _ => Ok(()),
    }
}

/// A union, or an attribute that would be ignored where it stands.
fn check_shape(input: &DeriveInput) -> Problems {
    let mut problems = Problems::default();
    match &input.data {
        Data::Struct(data) => check_fields(&data.fields, &mut problems),
        Data::Enum(data) => {
            for variant in &data.variants {
                refuse(&variant.attrs, &mut problems);
                check_fields(&variant.fields, &mut problems);
            }
        }
        Data::Union(data) => {
            let problem = "a job is a struct or an enum: a union does not serialise";
            problems.add(data.union_token.span, problem);
        }
    }
    problems
}

fn check_fields(fields: &Fields, problems: &mut Problems) {
    fields
        .iter()
        .for_each(|field| refuse(&field.attrs, problems));
}

fn refuse(attributes: &[Attribute], problems: &mut Problems) {
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("job"))
    {
        let problem = "`#[job(…)]` belongs on the type, not on a field or variant";
        problems.add(attribute.path().span(), problem);
    }
}
